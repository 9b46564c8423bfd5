#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# image.sh FILE UUID: makes a partition image: an ext4 file system with this UUID, the shell of this machine, and programs that the
# agent calls in it to install a boot loader. grub-install leaves a mark on the disk that it is given, and grub-mkconfig writes one
# as the configuration of the boot loader.
set -eu
file=$1 uuid=$2
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
mkdir -p "$root/boot/grub" "$root/dev" "$root/etc" "$root/proc" "$root/run" "$root/sys" "$root/tmp" "$root/usr/bin"
ln -s usr/bin "$root/bin"
shell=$(readlink -f /bin/sh)
cp "$shell" "$root/usr/bin/sh"
for library in $(ldd "$shell" | grep -o '/[^ ]*'); do
	install -D "$library" "$root$library"
done
program() { printf '#!/bin/sh\n%s\n' "$2" > "$root/usr/bin/$1"; chmod +x "$root/usr/bin/$1"; }
program mount 'exit 0' # of the image's own vfat partitions, which it does not have
program umount 'exit 0'
program grub-install 'printf "%s of the image" "boot loader" > "$1"'
program grub-mkconfig 'printf "%s of the image" "menu" > "$2"'
truncate -s 16M "$file"
mkfs.ext4 -q -d "$root" -U "$uuid" "$file"
