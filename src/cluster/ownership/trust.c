/*
 * Decides which database may be trusted.
 */
#include "trust.h"

#include <string.h>

#include "../../base/assert.h"

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n")] == '\0';
}

/* Returns whether a commit waits for the disk of a standby. With remote_write it waits only for the
 * memory. */
static bool waits_for_a_disk(const char *commit)
{
    return strcmp(commit, "on") == 0 || strcmp(commit, "remote_apply") == 0;
}

static bool waits_for_own_disk(const char *commit)
{
    return waits_for_a_disk(commit) || strcmp(commit, "remote_write") == 0 ||
           strcmp(commit, "local") == 0;
}

enum elapse__complaint elapse__trust_settings(const struct elapse__partition_settings *settings,
                                              bool single_copy)
{
    ELAPSE__ASSERT(settings->standby_names != NULL);
    ELAPSE__ASSERT(settings->commit != NULL);
    if (single_copy)
        return waits_for_own_disk(settings->commit) ? ELAPSE__COMPLAINT_NONE
                                                    : ELAPSE__COMPLAINT_COMMIT_IS_WEAK;
    if (is_blank(settings->standby_names))
        return ELAPSE__COMPLAINT_NO_STANDBY;
    return waits_for_a_disk(settings->commit) ? ELAPSE__COMPLAINT_NONE
                                              : ELAPSE__COMPLAINT_COMMIT_IS_WEAK;
}

enum elapse__complaint elapse__trust_commit(const struct elapse__partition_settings *before,
                                            const struct elapse__partition_settings *after,
                                            bool single_copy)
{
    enum elapse__complaint complaint = elapse__trust_settings(before, single_copy);
    if (complaint == ELAPSE__COMPLAINT_NONE)
        complaint = elapse__trust_settings(after, single_copy);
    if (complaint == ELAPSE__COMPLAINT_NONE && before->loaded_us != after->loaded_us)
        complaint = ELAPSE__COMPLAINT_RELOADED;
    return complaint;
}

enum elapse__complaint elapse__trust_session(const struct elapse__partition_session *session,
                                             uint64_t system_identifier, uint32_t timeline)
{
    if (session->in_recovery)
        return ELAPSE__COMPLAINT_IN_RECOVERY;
    if (system_identifier == 0)
        return ELAPSE__COMPLAINT_NONE;
    if (session->system_identifier != system_identifier)
        return ELAPSE__COMPLAINT_OTHER_SYSTEM;
    return session->timeline < timeline ? ELAPSE__COMPLAINT_OLD_TIMELINE : ELAPSE__COMPLAINT_NONE;
}
