// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"maps"
	"net/http"
	"path"
	"strings"
)

// URIs by DSP0266 and DSP2046.
const (
	rootPath           = "/redfish/v1"
	sessionServicePath = rootPath + "/SessionService"
	sessionsPath       = sessionServicePath + "/Sessions"
	systemsPath        = rootPath + "/Systems"
	managersPath       = rootPath + "/Managers"
	chassisPath        = rootPath + "/Chassis"
	theChassisPath     = chassisPath + "/1"

	resetPath = "Actions/" + resetAction // below a system
	infoPath  = "ResetActionInfo"        // below a system
)

var getOnly = []string{http.MethodGet}

// find returns the resource at a path, nil if there is none. The caller holds b.mu.
func (b *Redfish) find(path string) *resource {
	if b.config.NoSessions && strings.HasPrefix(path, sessionServicePath) {
		return nil
	}
	switch path {
	case "/redfish":
		return &resource{open: getOnly, get: static(object{"v1": rootPath + "/"})}
	case rootPath:
		return &resource{open: getOnly, get: static(b.serviceRoot())}
	case rootPath + "/odata":
		return &resource{open: getOnly, get: static(b.odata())}
	case rootPath + "/$metadata":
		return &resource{open: getOnly, get: metadata}
	case sessionServicePath:
		return &resource{get: static(b.sessionService())}
	case sessionsPath:
		b.expireSessions()
		return &resource{
			open: []string{http.MethodPost},
			get:  static(collection(sessionsPath, "SessionCollection", "Session Collection", pathsOf(b.sessions))),
			post: b.openSession,
		}
	case eventServicePath:
		return &resource{get: static(b.events.service())}
	case subscriptionsPath:
		return b.events.list()
	case systemsPath:
		return &resource{get: static(collection(systemsPath, "ComputerSystemCollection", "Systems", b.systemPaths()))}
	}
	if o, ok := b.fixed[path]; ok {
		return &resource{get: static(o)}
	}
	if id, ok := strings.CutPrefix(path, sessionsPath+"/"); ok {
		return b.sessionResource(id)
	}
	if id, ok := strings.CutPrefix(path, subscriptionsPath+"/"); ok {
		return b.events.resource(id)
	}
	if rest, ok := strings.CutPrefix(path, systemsPath+"/"); ok {
		id, below, _ := strings.Cut(rest, "/")
		return b.systemResource(id, below)
	}
	if id, ok := strings.CutPrefix(path, b.profile().managerPath()+mediaBelow+"/"); ok {
		return b.slotResource(b.profile().managerPath(), id)
	}
	return nil
}

// static and showing return the handler of a GET: of a resource as it is now, and as it is when the GET arrives.
func static(o object) func() *reply { return showing(func() object { return o }) }

func showing(o func() object) func() *reply { return func() *reply { return show(http.StatusOK, o()) } }

func (b *Redfish) serviceRoot() object {
	root := object{
		"@odata.id":      rootPath + "/",
		"@odata.type":    "#ServiceRoot.v1_15_0.ServiceRoot",
		"Id":             "RootService",
		"Name":           "Root Service",
		"Product":        "bmctest",
		"RedfishVersion": "1.18.0",
		"UUID":           "92384634-2938-2342-8820-489239905423",
		"Systems":        link(systemsPath),
		"Managers":       link(managersPath),
		"Chassis":        link(chassisPath),
		"Registries":     link(registriesPath),
		"UpdateService":  link(updatePath),
		"EventService":   link(eventServicePath),
		"SessionService": link(sessionServicePath),
		"Links":          object{"Sessions": link(sessionsPath)},
	}
	if vendor := b.profile().Vendor; vendor != "" {
		root["Vendor"] = vendor
	}
	if b.config.NoSessions {
		delete(root, "SessionService")
		root["Links"] = object{}
	}
	return root
}

func (b *Redfish) odata() object {
	names := []string{"Service", "Systems", "Managers", "Chassis", "Registries", "UpdateService", "EventService"}
	if !b.config.NoSessions {
		names = append(names, "SessionService")
	}
	var services []object
	for _, name := range names {
		url := rootPath + "/"
		if name != "Service" {
			url += name
		}
		services = append(services, object{"name": name, "kind": "Singleton", "url": url})
	}
	return object{"@odata.context": rootPath + "/$metadata", "value": services}
}

func metadata() *reply {
	const document = `<?xml version="1.0" encoding="UTF-8"?>
<edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.0">
  <edmx:Reference Uri="http://redfish.dmtf.org/schemas/v1/ServiceRoot_v1.xml">
    <edmx:Include Namespace="ServiceRoot"/>
  </edmx:Reference>
  <edmx:DataServices>
    <Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="Service">
      <EntityContainer Name="Service" Extends="ServiceRoot.v1_15_0.ServiceContainer"/>
    </Schema>
  </edmx:DataServices>
</edmx:Edmx>
`
	return newReply(http.StatusOK, "application/xml", []byte(document))
}

func (b *Redfish) sessionService() object {
	return object{
		"@odata.id":      sessionServicePath,
		"@odata.type":    "#SessionService.v1_1_9.SessionService",
		"Id":             "SessionService",
		"Name":           "Session Service",
		"ServiceEnabled": true,
		"SessionTimeout": seconds(b.config.SessionTimeout),
		"Sessions":       link(sessionsPath),
	}
}

// pathsOf returns the paths of resources, such as of all systems.
func pathsOf[T interface{ path() string }](resources []T) []string {
	var paths []string
	for _, r := range resources {
		paths = append(paths, r.path())
	}
	return paths
}

// build makes the systems, the slots of virtual media, and the resources that never change.
func (b *Redfish) build() {
	b.slots = newSlots(b.profile(), b.config.OnMedia)
	for i, s := range b.config.Systems {
		b.systems = append(b.systems, newSystem(s, b.profile(), i, b.Port, b.slots))
	}
	b.fixed = fixedResources{}
	b.fixed.addMembers(managersPath, "ManagerCollection", "Managers", b.manager())
	b.fixed.addMembers(chassisPath, "ChassisCollection", "Chassis", b.chassis())
	b.fixed.addSlots(b.profile().managerPath(), b.profile().ManagerSlots)
	for _, s := range b.systems {
		b.fixed.addHardware(s, b.Port)
		b.fixed.addSlots(s.path(), b.profile().SystemSlots)
		for _, name := range b.profile().Missing {
			maps.DeleteFunc(b.fixed, func(at string, _ object) bool { return strings.HasPrefix(at+"/", s.path()+"/"+name+"/") })
		}
	}
	if board := b.profile().Baseboard; board != "" {
		b.fixed.add(b.profile().baseboard(systemsPath + "/" + board))
	}
	b.fixed.addFirmware(b.profile(), b.systems)
	b.fixed.addRegistries(b.profile())
}

// systemPaths returns the paths of all systems: those that can be booted, and the profile's other board.
func (b *Redfish) systemPaths() []string {
	paths := pathsOf(b.systems)
	if board := b.profile().Baseboard; board != "" {
		paths = append([]string{systemsPath + "/" + board}, paths...)
	}
	return paths
}

func (b *Redfish) profile() *Profile { return &b.config.Profile }

// fixedResources holds the resources that never change, by path.
type fixedResources map[string]object

func (f fixedResources) add(o object) { f[o["@odata.id"].(string)] = o }

// addMembers adds a collection and its members.
func (f fixedResources) addMembers(path, schema, name string, members ...object) {
	var paths []string
	for _, m := range members {
		f.add(m)
		paths = append(paths, m["@odata.id"].(string))
	}
	f.add(collection(path, schema, name, paths))
}

// newResource returns a resource with the members that all resources but collections have, and with some properties.
// The schema has its version, such as "Manager.v1_19_0".
func newResource(uri, schema, name string, properties object) object {
	unversioned, _, _ := strings.Cut(schema, ".")
	o := object{
		"@odata.id":   uri,
		"@odata.type": "#" + schema + "." + unversioned,
		"Id":          path.Base(uri),
		"Name":        name,
	}
	maps.Copy(o, properties)
	return o
}

// newDevice returns a resource that has a Status, a healthy device's.
func newDevice(uri, schema, name string, properties object) object {
	o := newResource(uri, schema, name, properties)
	o["Status"] = healthy()
	return o
}

func collection(path, schema, name string, paths []string) object {
	return object{
		"@odata.id":           path,
		"@odata.type":         "#" + schema + "." + schema,
		"Name":                name,
		"Members":             links(paths),
		"Members@odata.count": len(paths),
	}
}

func healthy() object { return object{"State": "Enabled", "Health": "OK"} }

func link(path string) object { return object{"@odata.id": path} }

func links(paths []string) []object {
	list := make([]object, 0, len(paths))
	for _, p := range paths {
		list = append(list, link(p))
	}
	return list
}
