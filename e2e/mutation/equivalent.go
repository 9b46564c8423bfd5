// SPDX-License-Identifier: Apache-2.0

package main

import "fmt"

// equivalent lists the mutants that behave as the original code does, so that no test can
// kill them, with the reasons.
var equivalent = []struct {
	reason  string
	mutants []string
}{
	{"no route has as many requests as the bound, in any series", []string{
		"machine/plan/routes.go planner.planIdle: left <= longest => left < longest",
	}},
	{"of the shortest histories with as many failures, the first in the table has the fewest requests too, in every series so far", []string{
		"machine/plan/explain.go weigh: weight++ => removed",
	}},
	{"nothing uses the context after the function has returned, because calls have their own; " +
		"without cancel its timer ends a little later", []string{
		"conductor/agent/exchange.go Client.exchange: defer timer.Stop() => removed",
		"conductor/cache.go Task.readCache: defer cancel() => removed",
		"conductor/calls.go calls.forward: defer cancel() => removed",
		"conductor/calls.go calls.forget: defer cancel() => removed",
		"conductor/calls.go calls.serve: defer cancel() => removed",
		"conductor/conductor.go Conductor.Run: defer stopWork(nil) => removed",
		"conductor/etcd/membership.go Membership.leave: defer cancel() => removed",
		"conductor/etcd/membership.go Membership.register: defer cancel() => removed",
		"conductor/etcd/membership.go lease.keep: cancel() => removed",
		"conductor/engine.go engine.callReserved: defer cancel() => removed",
		"conductor/engine.go engine.unreserve: defer cancel() => removed",
		"conductor/engine.go engine.shared: defer cancel() => removed",
		"conductor/hardware/bmclib.go anyBMC.call: defer cancel() => removed",
		"conductor/hardware/power_bmclib.go bmclibPower.PowerState: defer cancel() => removed",
		"conductor/hardware/boot_virtualmedia.go mediaBoot.insert: defer cancel() => removed",
		"conductor/hardware/images/fetch.go Server.download: defer cancel() => removed",
		"conductor/hardware/instanceimage.go Config.headImage: defer cancel() => removed",
		"conductor/history.go history.add: defer cancel() => removed",
		"conductor/management.go engine.noteManaged: defer cancel() => removed",
		"conductor/objects.go awaitIndex: defer cancel(nil) => removed",
		"conductor/power_sync.go callPower: defer cancel() => removed",
		"conductor/power_sync.go powerRounds.handle: defer cancel(nil) => removed",
		"conductor/task.go reservedRecord.retry: cancel() => removed",
		"conductor/transition.go fleet.stored: defer cancel() => removed",
		"conductor/work.go Task.verify: defer cancel() => removed",
		"powersync/report.go reporter.callBack: defer cancel() => removed",
		"powersync/reservation.go reservations.release: defer cancel() => removed",
		"powersync/request.go fleet.ask: defer cancel() => removed",
		"verify/bmc/client.go CallClient: defer cancel() => removed",
		"verify/bmc/client.go CallClient: defer cancel() => removed #2",
		"verify/bmc/connection.go step: defer cancel() => removed",
		"verify/bmc/connection.go step: defer cancel() => removed #2",
		"verify/bmc/driver.go Driver.do: defer cancel() => removed",
		"verify/bmc/connection.go closeConnection: defer cancel() => removed",
		"verify/bmc/internal/ipmitool/program.go runProgram: defer cancel(nil) => removed",
		"verify/bmc/internal/redfish/session.go Client.openSession: defer cancel() => removed",
	}},
	{"the other of the two ends the connection", []string{
		"conductor/agent/exchange.go Client.exchange: defer cancel(nil) => removed",
		"conductor/agent/exchange.go Client.exchange: defer func() { _ = answer.Body.Close() }() => removed",
	}},
	{"a reboot switches a machine on that is off", []string{
		"conductor/hardware/boot.go bootInto: last = states.PowerOn => removed",
	}},
	{"a file or a connection that nothing reaches is closed later", []string{
		"conductor/etcd/embedded/check.go checkDatabase: defer f.Close() => removed",
		"conductor/etcd/embedded/cluster.go hasNoRaftState: defer w.Close() => removed",
		"conductor/etcd/embedded/replace.go Cluster.clusterState: defer client.CloseIdleConnections() => removed",
		"conductor/etcd/embedded/replace.go Cluster.requireDown: defer client.CloseIdleConnections() => removed",
		"conductor/etcd/embedded/restore.go checkBackup: defer f.Close() => removed",
		"conductor/hardware/bootimage/bootimage.go Image.collect: defer root.Close() => removed",
		"conductor/hardware/bootimage/bootimage.go linkOrCopy: defer source.Close() => removed",
		"conductor/hardware/images/fetch.go Server.download: defer from.Close() => removed",
		"conductor/hardware/images/images.go Server.Publish: defer file.Close() => removed",
		"conductor/hardware/images/serve.go Server.ServeHTTP: defer file.Close() => removed",
		"verify/bmc/internal/ipmitool/probe.go probe: defer conn.Close() => removed",
	}},
	{"FreeSpace is supported on the operating system of the tests", []string{
		"conductor/etcd/embedded/maintain.go maintenance.condition: free, err = math.MaxInt64/2, nil => removed",
	}},
	{"the maintenance does nothing more once its context has ended, and logs no error then", []string{
		"conductor/etcd/embedded/server.go running.stop: s.maintenance.Wait() => removed",
	}},
	{"an amd64 processor converts a number that does not fit to the least one, which is another", []string{
		"conductor/api/internal/objects/number.go integer: -1<<63 <= f && f < 1<<63 => -1<<63 <= f || f < 1<<63",
		"conductor/api/internal/objects/number.go integer: f < 1<<63 => f <= 1<<63",
	}},
	{"a timer that nothing reads is collected", []string{
		"conductor/etcd/embedded/maintain.go checks: defer database.Stop() => removed",
		"conductor/etcd/embedded/maintain.go checks: defer space.Stop() => removed",
		"conductor/etcd/embedded/server.go untilReady: defer cancel() => removed",
		"conductor/conductor.go every: defer ticker.Stop() => removed",
		"conductor/internal/workerpool/workerpool.go Pool.Close: defer timer.Stop() => removed",
	}},
	{"the context ends with its parent, which has ended then", []string{
		"conductor/etcd/store.go Store.begin: cancel() => removed",
		"conductor/session.go sessions.serve: context.AfterFunc(r.work, func() { end(nil) }) => removed",
		"conductor/session.go sessions.serve: end(nil) => removed",
	}},
	{"another conductor deletes the call then", []string{
		"conductor/calls.go calls.reconcile: time.Since(o.CreatedAt) > callExpiry && s.isChosen(o.UUID) => " +
			"time.Since(o.CreatedAt) > callExpiry && !s.isChosen(o.UUID)",
	}},
	{"no series ends at API version 1.109", []string{
		"conductor/cache.go powerRounds.health: config.Table.Series().MaxAPIVersion() < healthAPI => " +
			"config.Table.Series().MaxAPIVersion() <= healthAPI",
	}},
	{"Join of a Membership yields nothing after an error", []string{
		"conductor/session.go sessions.serve: break => continue",
	}},
	{"the watch of the kind begins a moment later, when the conductor has joined or writes the first entry of a history", []string{
		"conductor/fleet.go fleet.follow: f.of(kind) => removed",
	}},
	{"the loop ends at the end of the part in either case", []string{
		"conductor/api/internal/rest/measure.go meter.add: break => continue",
	}},
	{"the slice is cut off at its beginning", []string{
		"conductor/internal/inorder/inorder.go Queues.Add: over > 0 => over >= 0",
		"conductor/rules_end.go rulebook.move: over > 0 => over >= 0",
	}},
	{"a form that is found twice is searched for once; the statement saves computing its own forms again", []string{
		"verify/bmc/internal/failure/scrub.go encodings: slices.Sort(all) => removed",
	}},
	{"the files are measured more often, which only takes time", []string{
		"conductor/hardware/images/fetch.go bounded.Read: b.read = 0 => removed",
	}},
	{"the context is cancelled already, by the next statement", []string{
		"verify/bmc/connection.go Config.begin: stop() => removed",
	}},
	{"the limit is never 0: complete replaces 0 by the default", []string{
		"verify/bmc/config.go Config.check: c.MaxBytes < 0 => c.MaxBytes <= 0",
		"verify/bmc/config.go Config.check: c.MaxAnswerBytes < 0 => c.MaxAnswerBytes <= 0",
		"verify/bmc/config.go Config.check: c.MaxRequests < 0 => c.MaxRequests <= 0",
		"verify/bmc/config.go Config.check: c.MaxMembers < 0 => c.MaxMembers <= 0",
		"verify/bmc/config.go Config.check: c.Timeout < 0 => c.Timeout <= 0",
	}},
	{"no two events of a series lead from one state to the same state where another event is reported", []string{
		"conductor/transition.go rowsOf: break => continue",
	}},
	{"the buffer grows by itself; the statement saves allocations", []string{
		"conductor/api/internal/rest/body.go Request.readBody: chunk.Grow(int(size) + bytes.MinRead) => removed",
		"conductor/etcd/record.go encode: b.Grow(len(r.Value) + 64) => removed",
	}},
	{"the first node is swapped with itself", []string{
		"conductor/allocation.go allocator.candidates: i > 0 => i >= 0",
	}},
	{"a word as long as the bound differs from every word of the API by more letters than nearest permits", []string{
		"states/nearest.go nearest: len(word) > maxTypo => len(word) >= maxTypo",
	}},
	{"a revision only has to differ from the earlier ones", []string{
		"powersync/store.go Memory.put: m.changes++ => m.changes--",
	}},
	{"a deletion has a revision of its own, which no record has", []string{
		"conductor/internal/index/index.go Index.insert: x.deleted[m.ID] > m.Revision => x.deleted[m.ID] >= m.Revision",
	}},
	{"the last version of no series is the first one with runbooks, or with cleanings or services without a ramdisk", []string{
		"conductor/api/internal/nodes/provision.go provision: r.Highest >= since.Runbooks => r.Highest > since.Runbooks",
		"conductor/api/internal/nodes/provision.go checkRamdisk: r.Highest >= since.ServiceRamdisk => r.Highest > since.ServiceRamdisk",
		"conductor/api/internal/nodes/provision.go checkRamdisk: first <= r.Highest => first < r.Highest",
	}},
	{"the last version of no series is the first one with firmware", []string{
		"conductor/api/internal/nodes/validate.go validate: r.Highest < since.Firmware => r.Highest <= since.Firmware",
	}},
	{"the last version of no series is the first one with the identity of firmware components", []string{
		"conductor/api/internal/nodes/firmware.go listFirmware: r.Highest >= since.FirmwareIdentity => r.Highest > since.FirmwareIdentity",
		"conductor/api/internal/nodes/firmware.go listFirmware: r.Highest >= since.FirmwareIdentity => r.Highest > since.FirmwareIdentity #2",
	}},
	{"the fields of drivers can be chosen since 1.77, and the last version of no later series is the first one with a kind of interfaces",
		[]string{
			"conductor/api/internal/drivers/drivers.go checkDriverFields: i.since <= r.Highest => i.since < r.Highest",
		}},
	{"the capacity of a buffer, and whether one of exactly 64 KiB is used again, decide only how often memory is allocated", []string{
		"conductor/api/internal/wire/send.go pieces: pieceSize + pieceSize/4 => pieceSize - pieceSize/4",
		"conductor/api/internal/wire/send.go Send: cap(w.B) <= 2*pieceSize => cap(w.B) < 2*pieceSize",
	}},
	{"the conductor finds a node by its name too; the statement keeps to the node if its name changes meanwhile", []string{
		"conductor/api/internal/objects/allocations.go nodeBackfilled: al.NodeUUID = n.UUID => removed",
	}},
	{"a test excludes the records of other nodes; the range saves visiting them", []string{
		"conductor/api/internal/objects/selection.go selection.ofNode: s.node = &uuid => removed",
		"conductor/api/internal/objects/nodes.go childrenChosen: q.selected.node = &parent => removed",
	}},
	{"the only segment is empty only for the path /, which is the root", []string{
		"conductor/api/internal/rest/tree.go Request.split: len(segments) > 1 => len(segments) >= 1",
	}},
	{"the only segment of /v1/ is empty, and an empty list of segments becomes one empty segment", []string{
		"conductor/api/internal/rest/tree.go Request.split: last >= 0 => last > 0",
	}},
	{"no series ends at API version 1.88, where ports get names, at 1.94, 1.106 or 1.112", []string{
		"conductor/api/internal/objects/runbooks.go Runbooks: s.Highest < since.RunbookTraits => s.Highest <= since.RunbookTraits",
		"conductor/api/internal/objects/ports.go portResource: r.Highest < since.PortNode => r.Highest <= since.PortNode",
		"conductor/api/internal/objects/portgroups.go oneGroupFilter: q.r.Highest >= since.PortGroupShard => q.r.Highest > since.PortGroupShard",
		"conductor/api/internal/objects/resource.go resource.named: f.since <= s.Highest => f.since < s.Highest",
		"conductor/api/internal/objects/ports.go portNodeNamed: q.r.Highest < since.PortNode => q.r.Highest <= since.PortNode",
	}},
	{"the fields with a mask are no texts, and reservation is empty when it is replaced; a text is written below too, but allocates", []string{
		"conductor/api/internal/objects/show.go field.write: f.mask == nil => f.mask != nil",
		"conductor/api/internal/objects/show.go field.write: f.mask == nil && f.shown == nil => f.mask == nil || f.shown == nil",
		"conductor/api/internal/objects/show.go field.write: f.shown == nil => f.shown != nil",
	}},
	{"no node has an attribute whose name is empty or begins with a dot or a bracket", []string{
		"conductor/internal/inspectionrules/format.go next: end < 0 => end <= 0",
	}},
	{"the links of a resource are in the order of their versions", []string{
		"conductor/api/internal/objects/show.go resource.show: continue => break #2",
	}},
	{"the next Send replaces the response, and until then nothing is written", []string{
		"conductor/api/internal/wire/send.go Send: w.to = nil => removed",
	}},
	{"the text does not begin with a quote or a backslash", []string{
		"conductor/agent/answer.go shortener.next: size < 0 => size <= 0",
	}},
	{"the interval is never 0: New replaces 0 by the default", []string{
		"powersync/syncer.go Syncer.Run: s.config.RecoveryInterval > 0 => s.config.RecoveryInterval >= 0",
		"powersync/syncer.go Syncer.round: interval > 0 => interval >= 0",
	}},
}

// equivalents returns the reasons in the list equivalent, by the mutant's String. It
// returns an error if a listed mutant does not exist.
func equivalents(all []mutant) (map[string]string, error) {
	exists := make(map[string]bool, len(all))
	for _, m := range all {
		exists[m.String()] = true
	}
	reasons := map[string]string{}
	for _, e := range equivalent {
		for _, name := range e.mutants {
			if !exists[name] {
				return nil, fmt.Errorf("%w: there is no mutant %s", errOutOfDate, name)
			}
			reasons[name] = e.reason
		}
	}
	return reasons, nil
}
