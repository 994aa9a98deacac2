/* plugin_host FILE: loads a plug-in and prints what it says. */
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **arguments)
{
    void *plugin = count == 2 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    const char *(*version)(void);

    if (plugin == NULL) {
        fprintf(stderr, "plugin_host: %s\n", count == 2 ? dlerror() : "needs one argument");
        return 1;
    }
    *(void **)&version = dlsym(plugin, "plugin_version");
    if (version == NULL)
        return 1;
    puts(version());
    return dlclose(plugin);
}
