#!/usr/bin/env bash
# e2e/ironic/make.sh DIR SUITE...: makes a folder DIR/SUITE with a Debian of each suite and its Ironic. It needs root, mmdebstrap
# and an apt that knows a mirror of Debian, and takes about two minutes and 0.7 GB for each.
#
#   trixie  Ironic 29 of 2025.1        forky  35 of 2026.1        sid  39 of 2026.2
#
# forky and sid move on, so that the tests ask the package for its version. If sid cannot be installed, forky takes its place.
# These two also get the clients of Ironic for e2e/clients, and ironic-python-agent for e2e/agent. A folder that is there already is
# kept, and gets the packages that it lacks. The last line is the value of IRONSTATE_IRONICS for the tests.
set -euo pipefail
[ $# -ge 2 ] || { echo "usage: $0 DIR SUITE..."; exit 2; }
mkdir -p "$1"
dir=$(cd "$1" && pwd)
shift

mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -v security | head -1)

# packages SUITE prints the names of the packages of a suite.
packages() {
	echo ironic-api ironic-conductor python3-sushy
	[ "$1" = trixie ] || echo python3-ironicclient python3-oslotest ironic-tempest-plugin \
		python3-cheroot python3-pint python3-psutil python3-pyudev python3-werkzeug python3-zeroconf dosfstools fdisk file gdisk parted qemu-utils
}

# make SUITE fills a folder beside the last one, so that an interrupted run leaves none that looks complete. A mirror of a moving
# suite may be older than its lists say they are valid.
make() {
	rm -rf "$dir/$1.new"
	mmdebstrap --quiet --mode=root --variant=minbase --include="$(packages "$1" | paste -sd" ")" \
		--aptopt='Apt::Install-Recommends "false"' --aptopt='Acquire::Check-Valid-Until "false"' \
		--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/man/*' \
		"$1" "$dir/$1.new" "$mirror" >"$dir/$1.log" 2>&1 || { tail -20 "$dir/$1.log" >&2; return 1; }
	mv "$dir/$1.new" "$dir/$1"
}

# complete SUITE installs the packages that a folder lacks, and creates a folder that trixie's python3-sushy has forgotten, without
# which sushy finds no registry of a BMC. No package starts a service there. The package of the agent is unpacked
# without the 300 others that it requires: those above are enough for it.
complete() {
	local lacking=() agent=
	mkdir -p "$dir/$1/usr/lib/python3/dist-packages/sushy/standard_registries"
	for package in $(packages "$1"); do
		[ -e "$dir/$1/var/lib/dpkg/info/$package.list" ] || lacking+=("$package")
	done
	[ "$1" = trixie ] || [ -e "$dir/$1/usr/bin/ironic-python-agent" ] || agent=ironic-python-agent
	[ -n "${lacking[*]}$agent" ] || return 0
	printf '#!/bin/sh\nexit 101\n' >"$dir/$1/usr/sbin/policy-rc.d"
	chmod 755 "$dir/$1/usr/sbin/policy-rc.d"
	cp -L /etc/resolv.conf "$dir/$1/etc/resolv.conf"
	DEBIAN_FRONTEND=noninteractive unshare --mount -- sh -ec '
		root=$1 agent=$2
		shift 2
		mount --bind /proc "$root/proc"
		mount --rbind /dev "$root/dev"
		chroot "$root" apt-get --quiet update
		chroot "$root" apt-get --quiet --yes install "$@"
		[ -z "$agent" ] || chroot "$root" sh -ec "
			cd /tmp
			apt-get --quiet download $agent
			dpkg --extract ${agent}_*.deb /
			rm ${agent}_*.deb
			python3 -m compileall -q /usr/lib/python3/dist-packages/ironic_python_agent
		"
		chroot "$root" apt-get clean
	' complete "$dir/$1" "$agent" "${lacking[@]}" >"$dir/$1.log" 2>&1 || { tail -20 "$dir/$1.log" >&2; return 1; }
}

folders=()
for suite; do
	if [ ! -d "$dir/$suite" ] && ! make "$suite"; then
		[ "$suite" = sid ] || exit 1
		echo 'sid cannot be installed, forky takes its place' >&2
		suite=forky
		[ -d "$dir/$suite" ] || make "$suite"
	fi
	complete "$suite"
	echo "$suite: Ironic $(dpkg-query --admindir "$dir/$suite/var/lib/dpkg" --show --showformat '${Version}' ironic-common)"
	folders+=("$dir/$suite")
done
(IFS=:; echo "IRONSTATE_IRONICS=${folders[*]}")
