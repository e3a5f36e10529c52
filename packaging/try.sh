#!/usr/bin/env bash
# Tries what dist.sh made in clean roots of two Debian releases: `cargo xtask dist --try` runs this. Needs root,
# debootstrap, lintian, and apt's own mirror. The roots stay in target/dist/roots for the next time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=$PWD/target/dist
out=$work/out
mirror=$(apt-get indextargets --format '$(SITE)' | grep -v security | sort -u | head -1)
failed=0

# good WHAT COMMAND…: the command succeeds. Its output is shown only if it does not.
good() {
    local what=$1 said
    shift
    if said=$("$@" 2>&1); then
        echo "ok      $release: $what"
    else
        echo "FAILED  $release: $what"
        printf '%s\n' "$said" | tail -5 | sed 's/^/        /'
        failed=1
    fi
}

inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb "$@"; }
# says TEXT CODE COMMAND…: the command ends with CODE and prints TEXT.
says() {
    local text=$1 code=$2 said got=0
    shift 2
    said=$(inside "$@" 2>&1) || got=$?
    [ "$got" = "$code" ] && grep -qF -- "$text" <<< "$said" || { echo "exit $got: $said"; return 1; }
}
# Port 9 has no listener, so that a name that is found ends with a refused connection.
names() {
    says 'connection refused' 2 "$1" check --quick --stack kernel http://in-hosts:9/ &&
        says 'cannot resolve' 2 "$1" check --quick --stack kernel http://missing.invalid:9/
}
certificates() {
    says SSL_CERT_FILE 2 env SSL_CERT_FILE=/dev/null "$1" check --quick --stack kernel https://in-hosts:9/ &&
        says 'connection refused' 2 "$1" check --quick --stack kernel https://in-hosts:9/
}
# The first look, by a user without rights.
as_nobody() {
    says nagle-delayed-ack 0 setpriv --reuid=65534 --regid=65534 --clear-groups "$1" check
}
list() { (cd "$root" && find etc usr var/lib -xdev ! -path '*/dpkg/*' ! -path '*/apt/*' ! -path 'var/lib/systemd/*' | sort); }

# In an environment of its own, without a registry.
wheel() {
    inside python3 -m venv /tmp/venv &&
        inside /tmp/venv/bin/pip install --quiet --no-index --find-links /tmp/wheels ackwise &&
        says close-race 0 /tmp/venv/bin/ackwise explain --sample &&
        says 'rows: True' 0 /tmp/venv/bin/python -c 'import ackwise; print("rows:", len(ackwise.run("stalls")) > 0)'
}

try_programs() {
    good 'names, from the package' names /usr/bin/ackwise
    good 'certificates, from the package' certificates /usr/bin/ackwise
    good 'check as nobody' as_nobody ackwise
    good 'explain --sample' says close-race 0 ackwise explain --sample
    good 'manual page' says 'ackwise' 0 man -P cat ackwise-explain
    good 'completion' says '--sample' 0 bash -c '. /usr/share/bash-completion/completions/ackwise
        COMP_WORDS=(ackwise explain --sam) COMP_CWORD=2; _ackwise ackwise --sam explain; echo "${COMPREPLY[@]}"'
    good 'names, static' names /tmp/ackwise-static
    good 'certificates, static' certificates /tmp/ackwise-static
    good 'explain --sample, static' says close-race 0 /tmp/ackwise-static explain --sample
    good 'wheel' wheel
}

try_root() {
    release=$1
    root=$work/roots/$release
    [ "$(cat "$root/made" 2> /dev/null)" = "$2" ] || {
        rm -rf "$root"
        # systemd-resolved cannot always be configured in a root without systemd; its module is there then.
        debootstrap --variant=minbase --include="$2" "$release" "$root" "$mirror" > "$work/debootstrap.log" ||
            [ -e "$root/usr/lib/x86_64-linux-gnu/libnss_resolve.so.2" ]
        printf '%s\n' "$2" > "$root/made"
    }
    mount --bind /proc "$root/proc"
    mount --bind /dev "$root/dev"
    trap 'umount "$root/proc" "$root/dev"' EXIT
    printf '127.0.0.1 localhost in-hosts\n' > "$root/etc/hosts"
    # What the packages of these modules write where systemd runs.
    case $2 in *libnss-resolve*)
        sed -i 's/^hosts:.*/hosts: files resolve [!UNAVAIL=return] myhostname dns/' "$root/etc/nsswitch.conf" ;;
    esac
    local before after
    before=$(list)
    install -m 755 "$work/programs/static/ackwise" "$root/tmp/ackwise-static"
    cp "$out"/ackwise_*.deb "$root/tmp/ackwise.deb"
    rm -rf "$root/tmp/venv" "$root/tmp/wheels"
    install -D -t "$root/tmp/wheels" "$out"/ackwise-*.whl
    good 'install' inside dpkg -i /tmp/ackwise.deb
    try_programs
    good 'purge' inside dpkg --purge ackwise
    after=$(list)
    good 'purge leaves nothing' diff <(printf '%s\n' "$before") <(printf '%s\n' "$after")
    umount "$root/proc" "$root/dev"
    trap - EXIT
}

release=here
good 'lintian has no errors' lintian --fail-on error --allow-root "$out"/ackwise_*.deb
# Its members fit together; its lock also has those of the whole workspace.
source_package() {
    rm -rf "$work/source" && mkdir "$work/source" &&
        tar -C "$work/source" --strip-components=1 -xzf "$out"/ackwise-*[0-9].tar.gz &&
        cargo metadata --offline --quiet --format-version 1 --manifest-path "$work/source/Cargo.toml" > /dev/null
}
good 'source of the Python package' source_package
good 'sums' sh -c "cd '$out' && sha256sum --check --quiet SHA256SUMS"
mkdir -p "$work/roots"
common=ca-certificates,man-db,bash-completion,python3-venv
try_root bookworm $common
try_root trixie $common,libnss-resolve,libnss-myhostname
exit $failed
