#!/usr/bin/env bash
# build.sh OUTPUT_DIRECTORY: builds the contenders that run in a JVM, without the network: executor,
# executor-remove, java-util-timer, netty and netty-65536, each a script that starts its class.
# Without Netty the others are built all the same, and a line says so. Exit status 4: what all of
# them need is not installed.
set -euo pipefail

netty_jar=/usr/share/java/netty-common.jar

# A heap of fixed size: growing it is no part of the race. G1 is the default where there are two
# processors and 2 GB; it is named so that it is the same everywhere. Compiler threads that end
# would take their processor time along, which is read thread by thread.
jvm_options='-Xms2g -Xmx2g -XX:+UseG1GC -XX:-UseDynamicNumberOfCompilerThreads'

if [[ $# -ne 1 ]]; then
    echo "usage: build.sh OUTPUT_DIRECTORY" >&2
    exit 2
fi
if ! command -v javac >/dev/null; then
    echo "java: no Java compiler (Debian: openjdk-17-jdk-headless)" >&2
    exit 4
fi

mkdir -p "$1"
output=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")"
classes=$output/java-classes
rm -rf "$classes" "$output"/netty "$output"/netty-65536

# write_starter CONTENDER CLASS
write_starter()
{
    cat >"$output/$1" <<END
#!/bin/sh
exec java $jvm_options -cp '$classes:$netty_jar' $2 $1 "\$@"
END
    chmod +x "$output/$1"
}

compile()
{
    javac -Xlint:all -Werror --release 17 -d "$classes" "$@"
}

compile -sourcepath . ExecutorRace.java TimerRace.java
write_starter executor ExecutorRace
write_starter executor-remove ExecutorRace
write_starter java-util-timer TimerRace
if [[ ! -e $netty_jar ]]; then
    echo "java: netty left out: no $netty_jar (Debian: libnetty-java)" >&2
    exit 0
fi
compile -cp "$classes:$netty_jar" NettyRace.java
write_starter netty NettyRace
write_starter netty-65536 NettyRace
