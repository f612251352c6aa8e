# Keeps the releases of one application below ROOT, of which one is current:
#
#   ROOT/current              a link to the current release, switched by one rename
#   ROOT/releases/ID          a whole release, with its archive's digest in `.proofport-release`
#   ROOT/.proofport           the lock, what is being made, and what was done
#
#   release ROOT ID SHA256    unpacks the archive on standard input and makes it current, once
#   rollback ROOT ID KEY      makes a release current that is there, once for this key
#   current ROOT              changes nothing; lists the releases
#   released ROOT ID          changes nothing; says what became of a release
#   switched ROOT ID KEY      changes nothing; says what became of a rollback
#
# A refusal did nothing that can be seen, and says `refused WORD`: 101 usage, 102 busy, 103 layout,
# 104 digest, 105 conflict, 106 archive, 107 not_found, 108 storage. 110 is a failure after the
# release became visible and says `failed switch`.
#
# Every change is under the lock, which ends with its last process. A switch is announced before and
# noted after; whoever holds the lock next reads from the link whether an announced one happened. So
# a switch is made once, whatever was switched in between.

pp_end() {
    printf '%s %s\n' "$2" "$3"
    exit "$1"
}
pp_refuse() { pp_end "$1" refused "$2"; }

pp_now() {
    pp_link=$(readlink -- "$pp_root/current" 2>/dev/null) || pp_link=''
    pp_is=${pp_link#releases/}
}

# The digest of release $1; nothing where it is not one of ours.
pp_digest_of() {
    pp_digest=''
    if [ -f "$pp_root/releases/$1/.proofport-release" ]; then
        read -r pp_digest <"$pp_root/releases/$1/.proofport-release"
    fi
    case $pp_digest in *[!0123456789abcdef]*) pp_digest='' ;; esac
}

# Takes the lock and puts in order what a process that died left.
pp_open() {
    command -v flock >/dev/null || pp_refuse 103 layout
    [ -d "$pp_root" ] && [ -w "$pp_root" ] || pp_refuse 103 layout
    if [ -e "$pp_root/current" ] && [ ! -L "$pp_root/current" ]; then pp_refuse 103 layout; fi
    umask 022
    mkdir -p -- "$pp_root/releases" "$pp_own/done" 2>/dev/null || pp_refuse 108 storage
    { : >>"$pp_own/lock"; } 2>/dev/null || pp_refuse 108 storage
    exec 9<"$pp_own/lock"
    flock -w 30 9 || pp_refuse 102 busy
    if [ -f "$pp_own/pending" ]; then
        pp_key='' pp_to=''
        read -r pp_key pp_to <"$pp_own/pending"
        pp_now
        if [ "$pp_is" = "$pp_to" ]; then pp_note "$pp_key" || pp_refuse 108 storage; fi
        rm -f -- "$pp_own/pending" || pp_refuse 108 storage
    fi
    rm -rf -- "$pp_own/new" "$pp_own/current.new" || pp_refuse 108 storage
}

pp_note() { { : >"$pp_own/done/$1"; } 2>/dev/null && sync -- "$pp_own/done"; }

# Makes release $2 the current one, once for the key $1.
pp_switch() {
    [ -e "$pp_own/done/$1" ] && return
    pp_now
    if [ "$pp_is" != "$2" ]; then
        { printf '%s %s\n' "$1" "$2" >"$pp_own/pending.new" && sync -- "$pp_own/pending.new" &&
            mv -fT -- "$pp_own/pending.new" "$pp_own/pending" && sync -- "$pp_own" &&
            ln -s -- "releases/$2" "$pp_own/current.new" && mv -fT -- "$pp_own/current.new" "$pp_root/current" &&
            sync -- "$pp_root"; } 2>/dev/null || return
    fi
    pp_note "$1" && rm -f -- "$pp_own/pending"
}

pp_say() {
    pp_now
    pp_digest_of "$1"
    if [ "$pp_is" = "$1" ]; then pp_end 0 current "$1 $pp_digest"; fi
    pp_end 0 superseded "$1 $pp_digest"
}

pp_release() {
    pp_open
    if [ -e "$pp_root/releases/$pp_id" ]; then
        pp_digest_of "$pp_id"
        [ "$pp_digest" = "$1" ] || pp_refuse 105 conflict
    else
        mkdir -p -- "$pp_own/new/tree" 2>/dev/null || pp_refuse 108 storage
        cat >"$pp_own/new/archive" 2>/dev/null || pp_refuse 108 storage
        pp_digest=$(sha256sum <"$pp_own/new/archive") || pp_refuse 108 storage
        # A connection that is cut ends the archive early; nothing of it is looked at.
        [ "${pp_digest%% *}" = "$1" ] || pp_refuse 104 digest
        tar -x --no-same-owner --no-same-permissions -f "$pp_own/new/archive" -C "$pp_own/new/tree" >/dev/null 2>&1 ||
            pp_refuse 106 archive
        if [ -e "$pp_own/new/tree/.proofport-release" ] || [ -L "$pp_own/new/tree/.proofport-release" ]; then
            pp_refuse 106 archive
        fi
        { printf '%s\n' "$1" >"$pp_own/new/tree/.proofport-release" && sync -f -- "$pp_own/new/tree" &&
            mv -fT -- "$pp_own/new/tree" "$pp_root/releases/$pp_id"; } 2>/dev/null || pp_refuse 108 storage
        sync -- "$pp_root/releases" 2>/dev/null
        rm -rf -- "$pp_own/new"
    fi
    pp_switch "release-$pp_id" "$pp_id" || pp_end 110 failed switch
    pp_say "$pp_id"
}

pp_rollback() {
    pp_open
    pp_digest_of "$pp_id"
    [ -n "$pp_digest" ] || pp_refuse 107 not_found
    pp_switch "rollback-$1" "$pp_id" || pp_end 110 failed switch
    pp_say "$pp_id"
}

# Whether somebody holds the lock. The lock is given back at once: a question holds nobody up.
pp_busy() {
    [ -d "$pp_root" ] && [ -x "$pp_root" ] || pp_refuse 103 layout
    command -v flock >/dev/null || pp_refuse 103 layout
    [ -e "$pp_own/lock" ] || return 1
    ! flock -n -s "$pp_own/lock" true 2>/dev/null
}

# What became of the switch to $pp_id under the key $1.
pp_fate() {
    if [ -e "$pp_own/done/$1" ]; then pp_say "$pp_id"; fi
    pp_key='' pp_to=''
    if [ -f "$pp_own/pending" ]; then read -r pp_key pp_to <"$pp_own/pending"; fi
    pp_now
    if [ "$pp_key" = "$1" ] && [ "$pp_is" = "$pp_id" ]; then pp_say "$pp_id"; fi
}

pp_released() {
    if pp_busy; then pp_end 0 running "$pp_id"; fi
    pp_fate "release-$pp_id"
    pp_digest_of "$pp_id"
    if [ -n "$pp_digest" ]; then pp_end 0 partial "$pp_id $pp_digest"; fi
    if [ -e "$pp_root/releases/$pp_id" ]; then pp_refuse 105 conflict; fi
    pp_end 0 absent "$pp_id"
}

pp_switched() {
    if pp_busy; then pp_end 0 running "$pp_id"; fi
    pp_fate "rollback-$1"
    pp_end 0 absent "$pp_id"
}

pp_current() {
    [ -d "$pp_root" ] && [ -x "$pp_root" ] || pp_refuse 103 layout
    pp_now
    echo "current ${pp_is:--}"
    for pp_each in "$pp_root/releases/"*; do
        pp_name=${pp_each##*/}
        pp_digest_of "$pp_name"
        if [ -n "$pp_digest" ]; then echo "release $pp_name $pp_digest"; fi
    done
}

# Whether $1 can be a name in a folder: no path, no hidden file, no option.
pp_named() {
    case $1 in
    '' | .* | -* | *[!ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-]*) return 1 ;;
    esac
    [ "${#1}" -le 64 ]
}

pp_verb=${1-} pp_root=${2-} pp_id=${3-} pp_more=${4-}
case $pp_root in /*) ;; *) pp_refuse 101 usage ;; esac
pp_own=$pp_root/.proofport
if [ "$pp_verb:$#" = current:2 ]; then
    pp_current
    exit
fi
pp_named "$pp_id" || pp_refuse 101 usage
case $pp_verb:$# in
release:4)
    case $pp_more in *[!0123456789abcdef]*) pp_refuse 101 usage ;; esac
    [ "${#pp_more}" -eq 64 ] || pp_refuse 101 usage
    pp_release "$pp_more"
    ;;
released:3) pp_released ;;
rollback:4 | switched:4)
    pp_named "$pp_more" || pp_refuse 101 usage
    "pp_$pp_verb" "$pp_more"
    ;;
*) pp_refuse 101 usage ;;
esac
