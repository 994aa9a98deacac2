#!/usr/bin/env bash
# inside.sh [plain]: in the bare Debian, installs the packages of 0.2.0, puts jobs into their server, upgrades, removes,
# installs again and purges, and looks after each step. `plain`: without systemd. Writes what it finds to /said/log.
set -u
exec >/said/log 2>&1
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
readonly unit=elapse-server mode=${1-systemd} jobs=/var/lib/elapse conf=/etc/elapse/elapse.conf
readonly overrides=/etc/systemd/system/$unit.service.d server=127.0.0.1:11300
process=

fail()
{
    echo "$1"
    [[ $mode == plain ]] || journalctl -q --no-pager -u "$unit" -o cat | tail -n 20
    exit 1
}

# expect WHAT FOUND EXPECTED
expect()
{
    [[ $2 == "$3" ]] || fail "$1: '$2' in place of '$3'"
}

# With apt, as a user does it; a changed file of settings is kept. What it needs lies in its cache.
apt()
{
    apt-get --yes --no-install-recommends \
        -o Dpkg::Options::=--force-confold -o APT::Sandbox::User=root "$@" >/said/apt.log 2>&1 || {
        cat /said/apt.log
        fail "apt-get $1"
    }
}

# ---- the service ----

is_up()
{
    if [[ $mode == plain ]]; then
        [[ -n $process ]] && kill -0 "$process" 2>/dev/null
    else
        systemctl -q is-active "$unit"
    fi
}

answers()
{
    (exec 3<>/dev/tcp/127.0.0.1/11300) 2>/dev/null
}

until_it_answers()
{
    local i
    for ((i = 0; i < 300; i++)); do
        ! answers || return 0
        sleep 0.1
    done
    fail 'the server does not answer'
}

# Starts it if that was not done by its package.
start()
{
    if [[ $mode == plain ]]; then
        local command
        read -ra command < <(sed -n 's/^ExecStart=//p' "/lib/systemd/system/$unit.service")
        install -d -o elapse -g elapse -m 700 "$jobs"
        setpriv --reuid elapse --regid elapse --clear-groups "${command[@]}" 2>>/said/server.log &
        process=$!
    elif ! is_up; then
        # 226: the namespaces of the unit cannot be made here.
        if [[ $(systemctl show -P ExecMainStatus "$unit") == 226 && ! -d $overrides ]]; then
            mkdir -p "$overrides"
            printf '[Service]\nPrivateDevices=no\n' >"$overrides/test.conf"
            systemctl daemon-reload
            echo 'without PrivateDevices=, because no devices can be made here'
        fi
        systemctl stop "$unit"
        systemctl -q reset-failed "$unit" 2>/dev/null
        systemctl start "$unit" || fail 'the service does not start'
    fi
    until_it_answers
}

stop()
{
    if [[ $mode == plain ]]; then
        kill "$process"
        wait "$process" || fail 'the server does not end in order'
        process=
    else
        systemctl stop "$unit" || fail 'the service does not stop'
    fi
}

# before_change: what the packages' scripts do by systemd, by hand without it.
before_change()
{
    [[ $mode != plain ]] || stop
}

# resp WORD...: sends a command, and prints the answer's lines, up to the first second without one.
resp()
{
    local word line
    exec 3<>/dev/tcp/127.0.0.1/11300
    {
        printf '*%d\r\n' $#
        for word in "$@"; do
            printf '$%d\r\n%s\r\n' "${#word}" "$word"
        done
    } >&3
    while IFS= read -r -t 1 line <&3; do
        echo "${line%$'\r'}"
    done
    exec 3>&-
}

# ---- the old version, with jobs ----

apt install /said/old/*.deb
start
expect 'the version that is upgraded' "$(dpkg-query --show --showformat='${Version}' elapse)" 0.2.0~release
{
    seq 1000 | elapse put bulk --lines --in 1h --server "$server"
    elapse put unpaid 'order 4711' --in 30m --key 4711 --tag spring --priority 7 --server "$server"
    elapse put mails 'at once' --retry 3 --backoff 2s..1m --server "$server"
    elapse put nightly report --cron '0 2 * * *' --zone Europe/Berlin --server "$server"
    elapse put held 'a worker has it' --ttr 1h --server "$server"
    elapse put broken 'never works' --server "$server"
} >/said/put.log || fail 'put'
reserved=$(resp RESERVE held)
id=$(sed -n 's/^:\([0-9]*\)$/\1/p' <<<"$reserved" | head -n 1)
lease=$(grep -m 1 -E '^[0-9]+-[0-9]+$' <<<"$reserved")
broken=$(resp RESERVE broken)
expect 'burying' "$(resp BURY "$(sed -n 's/^:\([0-9]*\)$/\1/p' <<<"$broken" | head -n 1)" \
    "$(grep -m 1 -E '^[0-9]+-[0-9]+$' <<<"$broken")")" +ok
stop
elapse export "$jobs" >/said/old.jsonl || fail 'the old version does not export'
echo '# a line of the administrator' >>"$conf"
start
echo "0.2.0 has $(wc -l </said/old.jsonl) jobs"

# ---- the upgrade ----

before_change
apt install /said/new/*.deb
start
expect 'the program' "$(elapse --version)" "elapse $(dpkg-query --show --showformat='${Version}' elapse)"
expect 'programs' "$(compgen -G '/usr/*bin/elapse*')" /usr/bin/elapse
grep -q '^# a line of the administrator$' "$conf" || fail 'the settings have lost a line'
[[ $mode == plain ]] || expect 'user' "$(ps -o user= -p "$(systemctl show -P MainPID "$unit")")" elapse
expect 'an acknowledgement by a lease of before' "$(resp ACK "$id" "$lease")" $'*1\n+ok'
stop
elapse export "$jobs" >/said/new.jsonl || fail 'the new version does not export'
start
echo 'upgraded: the service runs the new program, as its user, with the settings of before; a worker of before ends its job'

# ---- removed, and installed again ----

before_change
apt remove elapse-server
! answers || fail 'the server answers although its package is removed'
[[ -e $conf && -d $jobs/journal ]] || fail 'removing takes the settings or the jobs away'
[[ ! -e /lib/systemd/system/$unit.service ]] || fail 'the unit of a removed package is there'
apt install /said/new/elapse-server_*.deb
start
expect 'jobs after the package was removed' "$(elapse list unpaid --json --server "$server" | grep -c 'order\|4711')" 1
echo 'removed: the settings and the jobs stay, and the service has them when it is installed again'

# ---- purged ----

before_change
apt purge elapse-server elapse libelapse-dev libelapse-queue-dev 'libelapse0.*' 'libelapse-queue0.*'
grep -q "stay in $jobs" /said/apt.log || fail 'purging does not say where the jobs stay'
[[ -d $jobs/journal && ! -e $conf ]] || fail 'purging takes the jobs away, or leaves the settings'
rm -rf "$overrides"
expect 'packages after the purge' "$(dpkg --list | grep elapse)" ''
left=$(find /bin /etc /lib /opt /sbin /srv /usr /var -xdev -name '*elapse*' -not -path "$jobs*" \
    -not -path '/var/cache/*' -not -path '/var/log/*' -not -name 'elapse-test.*' 2>/dev/null)
expect 'files after the purge' "$left" ''
expect 'user after the purge' "$(getent passwd elapse | cut -d : -f 6)" "$jobs"
echo "purged: nothing stays but the jobs in $jobs, and their owner, the user elapse"
echo 'upgrade: ok'
