# Runs a command at most once under a reference, and tells later what became of it. For any POSIX
# shell with coreutils. Nothing is installed: the text is the script of `sh -c`.
#
#   run REFERENCE [--state DIR] -- COMMAND [ARGUMENT...]
#   status REFERENCE [--state DIR]       changes nothing
#   stop REFERENCE [--state DIR]         ends the command, then answers as `status` does
#
# SIGTERM to a run, as a server passes it on (RFC 4254 section 6.9), does what `stop` does; the run then
# ends as its command did.
#
# `status` says, on standard output, one of
#   absent        nobody ran it here
#   running       it runs, or its output is still open
#   finished N    it exited with N          } then a line `stdout BYTES SHA256`,
#   signalled N   a signal ended it, 128+N  } `-` for what is not known
#   lost          it began, and its end was not seen
#
# A run that is refused did nothing and exits with 120 (not understood), 121 (the reference was used
# before) or 122 (its state can't be kept), after the line `proofport-refused:REFERENCE WORD`. Any
# other run exits as the command does, after the line `proofport-finished:REFERENCE N`. Both lines
# are on standard error.
#
# The state of a reference is one folder. It is prepared under another name and renamed, so that it
# is claimed by one run only and never without the name of its process. Names begin with `pp_`:
# assigning to a variable that the caller exports would change it for the command.

pp_refuse() {
    printf 'proofport-refused:%s %s\n' "$pp_ref" "$2" >&2
    exit "$1"
}

# Sets pp_born to when process $1 started, in ticks since boot; `-` where it can't be known.
pp_look() {
    pp_born=-
    pp_stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
    # The second field is a name in brackets that may hold anything: count from its end.
    pp_stat=${pp_stat##*) }
    case $pp_stat in [ZX]*) return 0 ;; esac
    pp_n=3
    while [ "$pp_n" -lt 22 ]; do pp_stat=${pp_stat#* } pp_n=$((pp_n + 1)); done
    pp_born=${pp_stat%% *}
}

# Whether the process that the file $1 names (PID BORN BOOT) still is that process.
pp_alive() {
    pp_pid='' pp_then='' pp_at=''
    read -r pp_pid pp_then pp_at 2>/dev/null <"$1" || return 1
    case $pp_pid in '' | *[!0123456789]*) return 1 ;; esac
    # A number may have been given to another process; a start time and a boot are its own.
    if [ "$pp_then" = - ] || [ ! -e /proc/self/stat ]; then
        kill -0 "$pp_pid" 2>/dev/null
        return
    fi
    pp_look "$pp_pid"
    [ "$pp_at $pp_then" = "$pp_boot $pp_born" ]
}

pp_status() {
    if [ -e "$pp_dir/result" ]; then
        pp_word='' pp_code='' pp_bytes='' pp_digest=''
        read -r pp_word pp_code pp_bytes pp_digest <"$pp_dir/result"
        printf '%s %s\nstdout %s %s\n' "$pp_word" "$pp_code" "$pp_bytes" "$pp_digest"
    elif pp_alive "$pp_dir/runner" || pp_alive "$pp_dir/command"; then
        echo running
    elif [ -e "$pp_dir/result" ]; then
        pp_status # It ended between the two looks.
    elif [ -e "$pp_dir/runner" ]; then
        echo lost
    elif [ -e "$pp_dir" ] || [ ! -x "$pp_root" ] || [ ! -d "$pp_base" ] || [ ! -x "$pp_base" ]; then
        # What can't be looked at is not absent, and neither is what may be on a disk that is not mounted.
        pp_refuse 122 state
    else
        echo absent
    fi
}

pp_stop() {
    for pp_signal in TERM KILL; do
        pp_alive "$pp_dir/command" || break
        # Its group, where it leads one. Another's group is never signalled.
        kill "-$pp_signal" "-$pp_pid" 2>/dev/null || kill "-$pp_signal" "$pp_pid" 2>/dev/null
        pp_tries=0
        while [ "$pp_tries" -lt 50 ] && [ ! -e "$pp_dir/result" ] &&
            { pp_alive "$pp_dir/runner" || pp_alive "$pp_dir/command"; }; do
            sleep 0.1
            pp_tries=$((pp_tries + 1))
        done
    done
    pp_status
}

# Waits for SIGTERM and passes it on: the shell that runs the command hears nothing before its end, and the
# command is in a group of its own.
pp_listen() {
    pp_asked=''
    trap 'pp_asked=1' TERM
    # It is over.
    trap '[ -z "$pp_pause" ] || kill "$pp_pause" 2>/dev/null; exit' USR1
    while [ -z "$pp_asked" ] && pp_alive "$pp_dir/runner"; do
        # A signal ends the wait, and the pause too where it reaches the whole group.
        sleep 60 &
        pp_pause=$!
        if [ -z "$pp_asked" ]; then wait "$pp_pause"; fi
        kill "$pp_pause" 2>/dev/null
        pp_pause=''
    done
    # A run that died without being asked leaves its command alone.
    [ -n "$pp_asked" ] || exit 0
    pp_tries=0
    while [ ! -e "$pp_dir/command" ] && [ "$pp_tries" -lt 50 ] && pp_alive "$pp_dir/runner"; do
        sleep 0.1
        pp_tries=$((pp_tries + 1))
    done
    pp_stop
}

pp_claim() {
    if [ ! -d "$pp_base" ]; then
        mkdir -p -- "$pp_base" || return
        # Each folder that is new is noted in the one above it.
        pp_up=$pp_base
        while [ "$pp_up" != "$pp_root" ]; do
            pp_up=${pp_up%/*}
            sync -- "$pp_up/" || return
        done
    fi
    pp_new=$(mktemp -d -- "$pp_base/.new.XXXXXXXXXX") || return
    pp_look $$
    # The result is written over these bytes, so that a disk that fills up meanwhile can't lose it.
    printf '%s %s %s\n' $$ "$pp_born" "$pp_boot" >"$pp_new/runner" &&
        printf '%120s\n' '' >"$pp_new/result.new" &&
        mkfifo -- "$pp_new/out" "$pp_new/err" "$pp_new/bytes" "$pp_new/digest" &&
        sync -- "$pp_new/runner" "$pp_new/result.new" "$pp_new" &&
        # Fails where the folder is there, since none is ever empty. `-T`: not into it.
        mv -fT -- "$pp_new" "$pp_dir" && sync -- "$pp_base" && return
    rm -rf -- "$pp_new"
    return 1
}

# Runs the command; says lines of facts. The channel's standard output is 4.
pp_carry() {
    # What relays output must outlive the channel, the group's signals and the command. Ignored before
    # they start, so that no signal comes too early.
    trap '' HUP INT QUIT TERM PIPE
    sha256sum <"$pp_dir/digest" 2>/dev/null 4>&- &
    wc -c <"$pp_dir/bytes" 2>/dev/null 4>&- &
    tee "$pp_dir/digest" "$pp_dir/bytes" <"$pp_dir/out" >&4 2>/dev/null 4>&- &
    tee /dev/null <"$pp_dir/err" >&2 2>/dev/null 4>&- &
    trap : HUP INT QUIT TERM PIPE
    # A shell speaks of a child that died by a signal. That alone tells 128+N from an exit with it, so
    # nothing else is said here: the child opens its own outputs.
    pp_said=$({
        trap : HUP INT QUIT TERM PIPE # Every subshell begins without.
        $pp_apart sh -c '
            trap "" HUP
            pp_dir=$1 pp_id="$$ $2"
            shift 2
            # For one word to the runner: a file that is missing later proves nothing.
            exec 3>&1 >"$pp_dir/out" 2>"$pp_dir/err"
            # When it started is read here and not before: this is the process that the command will be.
            pp_stat=$(cat "/proc/$$/stat" 2>/dev/null) && {
                pp_stat=${pp_stat##*) } pp_n=3
                while [ "$pp_n" -lt 22 ]; do pp_stat=${pp_stat#* } pp_n=$((pp_n + 1)); done
                pp_id="$$ ${pp_stat%% *} ${pp_id##* }"
            }
            { printf "%s\n" "$pp_id" >"$pp_dir/command.new" && mv -f -- "$pp_dir/command.new" "$pp_dir/command"; } ||
                { echo unstarted >&3 && exit 1; }
            unset pp_dir pp_id pp_stat pp_n
            # The connection may end before its input does, and the command would take a part for all.
            exec 3>&- </dev/null
            exec "$@"
        ' proofport "$pp_dir" "- $pp_boot" "$@" 4>&-
        printf 'status %s\n' "$?"
    } 2>&1)
    # Relays whose other end was never opened would wait for it.
    : 5<>"$pp_dir/out" 6<>"$pp_dir/err"
    pp_code=${pp_said##*status }
    case $pp_said:$pp_code in
    *:*[!0123456789]* | *:) ;;
    unstarted*) echo 'unstarted -1' ;;
    'status '* | *:? | *:?? | *:1[01]? | *:12[0-8]) printf 'finished %s\n' "$pp_code" ;;
    *) printf 'signalled %s\n' "$pp_code" ;;
    esac
    wait
}

pp_run() {
    # Caught and not ignored: the command gets them as they were.
    trap : HUP INT QUIT TERM PIPE
    pp_mask=$(umask)
    umask 077
    if ! pp_claim 2>/dev/null; then
        if [ -e "$pp_dir" ]; then pp_refuse 121 used; fi
        pp_refuse 122 state
    fi
    # A session of its own: a hangup of the terminal passes it by, and `stop` finds its group.
    pp_apart=''
    if command -v setsid >/dev/null; then pp_apart=setsid; fi
    umask "$pp_mask"
    pp_pause=''
    # Nothing of the channel stays open for it.
    pp_listen </dev/null >/dev/null 2>&1 &
    pp_listener=$!
    exec 4>&1
    pp_facts=$(pp_carry "$@")
    kill -USR1 "$pp_listener" 2>/dev/null
    pp_word='' pp_code='' pp_bytes=- pp_digest=-
    while read -r pp_first pp_second; do
        case $pp_first:$pp_second in
        finished:* | signalled:* | unstarted:*) pp_word=$pp_first pp_code=$pp_second ;;
        *:-) pp_digest=$pp_first ;;
        *[!0123456789]*:) ;;
        ?*:) pp_bytes=$pp_first ;;
        esac
    done <<END
$pp_facts
END
    if [ "$pp_word" = unstarted ]; then
        rm -rf -- "$pp_dir"
        pp_refuse 122 state
    fi
    # Without a status nothing is known of the end, and nothing is stored: the run is lost.
    if [ -z "$pp_code" ]; then exit 1; fi
    pp_said=$pp_code
    if [ "$pp_word" = signalled ]; then pp_said=$((pp_code - 128)); fi
    { printf '%s %s %s %s\n' "$pp_word" "$pp_said" "$pp_bytes" "$pp_digest" 1<>"$pp_dir/result.new" &&
        sync -- "$pp_dir/result.new" && mv -fT -- "$pp_dir/result.new" "$pp_dir/result" &&
        sync -- "$pp_dir" && rm -f -- "$pp_dir/out" "$pp_dir/err" "$pp_dir/bytes" "$pp_dir/digest"; } 2>/dev/null
    printf 'proofport-finished:%s %s\n' "$pp_ref" "$pp_code" >&2
    exit "$pp_code"
}

pp_verb=${1-} pp_ref=${2-}
case $pp_ref in
'' | *[!abcdefghijklmnopqrstuvwxyz0123456789]*) pp_ref=- && pp_refuse 120 usage ;;
esac
if [ "${#pp_ref}" -gt 40 ]; then pp_ref=- && pp_refuse 120 usage; fi
shift 2
# A folder that is given must be there already, as a home is: else one that is not mounted would be
# taken for one where nothing ran.
if [ "${1-}" = --state ] && [ "$#" -ge 2 ]; then
    pp_root=$2 pp_base=$2/proofport
    shift 2
else
    case ${XDG_STATE_HOME-} in
    /*) pp_root=$XDG_STATE_HOME pp_base=$XDG_STATE_HOME/proofport ;;
    *) pp_root=${HOME-} pp_base=${HOME-}/.local/state/proofport ;;
    esac
fi
case $pp_root in /*) ;; *) pp_refuse 122 state ;; esac
if [ ! -d "$pp_root" ]; then pp_refuse 122 state; fi
pp_dir=$pp_base/$pp_ref
pp_boot=-
if [ -r /proc/sys/kernel/random/boot_id ]; then read -r pp_boot </proc/sys/kernel/random/boot_id; fi
case $pp_verb:$#:${1-} in
status:0:) pp_status ;;
stop:0:) pp_stop ;;
run:[!01]*:-- | run:1?*:--)
    shift
    pp_run "$@"
    ;;
*) pp_refuse 120 usage ;;
esac
