#!/usr/bin/env bash
# inside.sh: does inside of the new system what `run` describes. Writes what it finds to /said/log.
set -u
exec >/said/log 2>&1

readonly unit=elapse-server
readonly overrides=/etc/systemd/system/$unit.service.d

# pid: that of the process of the service.
pid()
{
    systemctl show -P MainPID "$unit"
}

expect()
{
    [[ $2 == "$3" ]] && return
    echo "$1: '$2' in place of '$3'"
    journalctl -q --no-pager -u "$unit" -o cat
    exit 1
}

until_started_again()
{
    local i
    for ((i = 0; i < 200; i++)); do
        if [[ $(systemctl show -P NRestarts "$unit") == "$1" ]] && systemctl -q is-active "$unit"; then
            return
        fi
        sleep 0.2
    done
    expect "started again" "$(systemctl show -P NRestarts "$unit")" "$1"
}

override()
{
    mkdir -p "$overrides"
    printf '[Service]\nWatchdogSec=5s\nRestartSec=100ms\n%s\n' "$1" >"$overrides/test.conf"
    systemctl daemon-reload
    systemctl -q reset-failed "$unit" 2>/dev/null
}

delayed()
{
    redis-cli -p 11300 STATS t | sed -n 2p
}

dpkg -i --force-depends --no-triggers /said/*.deb >/said/dpkg 2>&1
systemd-sysusers
override ''
if ! systemctl -q start "$unit"; then
    # 226: the namespaces of the unit cannot be made here.
    expect "status of the start" "$(systemctl show -P ExecMainStatus "$unit")" 226
    systemctl stop "$unit"
    override 'PrivateDevices=no'
    echo "without PrivateDevices=, because no devices can be made here"
    systemctl -q start "$unit" || expect start failed ready
fi
first=$(systemctl show -P NRestarts "$unit")
expect "state" "$(systemctl show -P ActiveState "$unit")" active
expect "user" "$(ps -o user= -p "$(pid)")" elapse
expect "put" "$(redis-cli -p 11300 PUT t body IN 1h | sed -n 2p)" scheduled
echo "started, and ready when it says so"

kill -KILL "$(pid)"
until_started_again "$((first + 1))"
expect "jobs after SIGKILL" "$(delayed)" 1
echo "started again after SIGKILL"

kill -STOP "$(pid)"
until_started_again "$((first + 2))"
expect "jobs after the watchdog" "$(delayed)" 1
echo "started again by the watchdog"

before=$(pid)
systemctl reload "$unit" || expect reload failed "done"
expect "process after a reload" "$(pid)" "$before"
sleep 8
expect "process after longer than the watchdog waits" "$(pid)" "$before"
echo "reloaded, and up for longer than the watchdog waits"

systemctl stop "$unit" || expect stop failed "done"
expect "result of the stop" "$(systemctl show -P Result "$unit")" success
expect "status of the stop" "$(systemctl show -P ExecMainStatus "$unit")" 0
echo "stopped"
echo "service: ok"
