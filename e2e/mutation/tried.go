// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
)

// tried lists the files of the conductor's packages whose mutants have all been tried: each is
// killed, or listed in equivalent.go. The mutants of the other files of these packages are tried
// only if -run selects them.
var tried = []string{
	"conductor/api/documents.go",
	"conductor/api/handler.go",
	"conductor/api/routes.go",
	"conductor/api/internal/drivers/conductors.go",
	"conductor/api/internal/drivers/drivers.go",
	"conductor/api/internal/fault/fault.go",
	"conductor/api/internal/fault/text.go",
	"conductor/api/internal/nodes/bios.go",
	"conductor/api/internal/nodes/boot.go",
	"conductor/api/internal/nodes/chassis.go",
	"conductor/api/internal/nodes/children.go",
	"conductor/api/internal/nodes/console.go",
	"conductor/api/internal/nodes/create.go",
	"conductor/api/internal/nodes/field.go",
	"conductor/api/internal/nodes/firmware.go",
	"conductor/api/internal/nodes/history.go",
	"conductor/api/internal/nodes/indicators.go",
	"conductor/api/internal/nodes/inventory.go",
	"conductor/api/internal/nodes/maintenance.go",
	"conductor/api/internal/nodes/management.go",
	"conductor/api/internal/nodes/provision.go",
	"conductor/api/internal/nodes/raid.go",
	"conductor/api/internal/nodes/routes.go",
	"conductor/api/internal/nodes/shards.go",
	"conductor/api/internal/nodes/show.go",
	"conductor/api/internal/nodes/states.go",
	"conductor/api/internal/nodes/steps.go",
	"conductor/api/internal/nodes/traits.go",
	"conductor/api/internal/nodes/vendor.go",
	"conductor/api/internal/nodes/vifs.go",
	"conductor/api/internal/nodes/vmedia.go",
	"conductor/api/internal/patch/patch.go",
	"conductor/api/internal/ramdisk/events.go",
	"conductor/api/internal/ramdisk/inspection.go",
	"conductor/api/internal/ramdisk/ramdisk.go",
	"conductor/api/internal/traits/traits.go",
	"conductor/api/internal/wire/send.go",
	"conductor/api/internal/wire/writer.go",
	"conductor/ability.go",
	"conductor/allocation.go",
	"conductor/bootmode.go",
	"conductor/cache.go",
	"conductor/calls.go",
	"conductor/cleanup.go",
	"conductor/conductor.go",
	"conductor/config.go",
	"conductor/errors.go",
	"conductor/fake.go",
	"conductor/fleet.go",
	"conductor/fence.go",
	"conductor/health.go",
	"conductor/history.go",
	"conductor/index.go",
	"conductor/indicator.go",
	"conductor/inspection_lookup.go",
	"conductor/interfaces.go",
	"conductor/kinds.go",
	"conductor/log.go",
	"conductor/management.go",
	"conductor/membership.go",
	"conductor/memory.go",
	"conductor/node.go",
	"conductor/nodes.go",
	"conductor/object.go",
	"conductor/objects.go",
	"conductor/owner.go",
	"conductor/pool.go",
	"conductor/power.go",
	"conductor/reconcile.go",
	"conductor/refusal.go",
	"conductor/rulebook.go",
	"conductor/session.go",
	"conductor/stats.go",
	"conductor/steps.go",
	"conductor/steps_check.go",
	"conductor/steps_plan.go",
	"conductor/trace.go",
	"conductor/transition.go",
	"conductor/watch.go",
	"conductor/etcd/backup.go",
	"conductor/etcd/config.go",
	"conductor/etcd/errors.go",
	"conductor/etcd/membership.go",
	"conductor/etcd/record.go",
}

// isTried reports whether all mutants of a file have been tried, as those of every package outside
// the conductor.
func isTried(file string) bool {
	return !strings.HasPrefix(file, "conductor/") || slices.Contains(tried, file)
}
