#!/usr/bin/env bash
# deb.sh VERSION WORK OUT: packs the program of dist.sh for Debian and Ubuntu. Needs dpkg-deb only.
set -euo pipefail
version=$1 work=$2 out=$3
tree=$work/tree/deb
rm -rf "$tree"
doc=$tree/usr/share/doc/ackwise
mkdir -p "$tree/DEBIAN" "$doc" "$tree/usr/share/man/man1"

install -D -m 755 "$work/programs/glibc/ackwise" "$tree/usr/bin/ackwise"
for page in "$work"/pages/man/*.1; do
    gzip -9n < "$page" > "$tree/usr/share/man/man1/$(basename "$page").gz"
done
pages=$work/pages/completions
install -D -m 644 "$pages/ackwise.bash" "$tree/usr/share/bash-completion/completions/ackwise"
install -D -m 644 "$pages/ackwise.fish" "$tree/usr/share/fish/vendor_completions.d/ackwise.fish"
install -D -m 644 "$pages/_ackwise" "$tree/usr/share/zsh/vendor-completions/_ackwise"

install -m 644 packaging/copyright "$doc/copyright"
# The address takes no mail: SECURITY.md and the forms for issues are the contacts.
maintainer='Ackwise developers <ackwise@users.noreply.github.com>'
gzip -9n < CHANGELOG.md > "$doc/CHANGELOG.md.gz"
gzip -9n > "$doc/changelog.gz" <<CHANGELOG
ackwise ($version) unstable; urgency=medium

  * Release $version: CHANGELOG.md.gz has what changed.

 -- $maintainer  $(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")
CHANGELOG
cat > "$tree/DEBIAN/control" <<CONTROL
Package: ackwise
Version: $version
Architecture: amd64
Maintainer: $maintainer
Installed-Size: $(du -sk --exclude=DEBIAN "$tree" | cut -f1)
Depends: libc6 (>= 2.17)
Recommends: ca-certificates
Suggests: nftables
Section: net
Priority: optional
Description: find the time that HTTP and TCP waste on each other
 Ackwise finds stalls caused by the way HTTP and TCP interact, measures what
 they cost, and names the setting or code change that removes them. It tests
 live servers and clients, explains packet captures, and runs experiments on
 simulated networks or on this machine's kernel.
CONTROL
(cd "$tree" && find usr -type f -print0 | sort -z | xargs -0 md5sum > DEBIAN/md5sums)
chmod -R u=rwX,go=rX "$tree"
find "$tree" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group -Zxz --build "$tree" "$out/ackwise_${version}_amd64.deb" > /dev/null
