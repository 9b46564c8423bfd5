package bmctest

import (
	"net/http"
	"strings"
	"time"
)

// URIs by DSP0266 and DSP2046.
const (
	rootPath           = "/redfish/v1"
	sessionServicePath = rootPath + "/SessionService"
	sessionsPath       = sessionServicePath + "/Sessions"
	systemsPath        = rootPath + "/Systems"
	managersPath       = rootPath + "/Managers"
	managerPath        = managersPath + "/bmc"
	chassisPath        = rootPath + "/Chassis"
	boxPath            = chassisPath + "/1"
	resetPath          = "/Actions/ComputerSystem.Reset"
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
		return &resource{
			open: []string{http.MethodPost},
			get:  static(collection(sessionsPath, "SessionCollection", "Session Collection", b.sessionPaths())),
			post: b.openSession,
		}
	case systemsPath:
		return &resource{get: static(collection(systemsPath, "ComputerSystemCollection", "Systems", b.systemPaths()))}
	case managersPath:
		return &resource{get: static(collection(managersPath, "ManagerCollection", "Managers", []string{managerPath}))}
	case managerPath:
		return &resource{get: static(b.manager())}
	case chassisPath:
		return &resource{get: static(collection(chassisPath, "ChassisCollection", "Chassis", []string{boxPath}))}
	case boxPath:
		return &resource{get: static(b.box())}
	}
	if id, ok := strings.CutPrefix(path, sessionsPath+"/"); ok {
		return b.sessionResource(id)
	}
	if id, ok := strings.CutPrefix(path, systemsPath+"/"); ok {
		return b.systemResource(id)
	}
	return nil
}

func static(o object) func() reply { return func() reply { return show(http.StatusOK, o) } }

// systemResource returns the resource of a system, or of its action if the ID is followed by the action's path.
func (b *Redfish) systemResource(id string) *resource {
	id, action := strings.CutSuffix(id, resetPath)
	s := b.system(id)
	if s == nil {
		return nil
	}
	res := &resource{
		get:   func() reply { return show(http.StatusOK, s.object()) },
		patch: s.patch,
	}
	if action {
		return &resource{post: func(c *call) reply { return b.reset(s, c) }, owner: res}
	}
	return res
}

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
		"SessionService": link(sessionServicePath),
		"Links":          object{"Sessions": link(sessionsPath)},
	}
	if b.config.NoSessions {
		delete(root, "SessionService")
		root["Links"] = object{}
	}
	return root
}

func (b *Redfish) odata() object {
	names := []string{"Service", "Systems", "Managers", "Chassis"}
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

func metadata() reply {
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

func (b *Redfish) manager() object {
	return object{
		"@odata.id":   managerPath,
		"@odata.type": "#Manager.v1_19_0.Manager",
		"Id":          "bmc",
		"Name":        "BMC",
		"ManagerType": "BMC",
		"PowerState":  powerOn,
		"Status":      healthy(),
		"Links": object{
			"ManagerForServers": links(b.systemPaths()),
			"ManagerForChassis": links([]string{boxPath}),
		},
	}
}

// box returns the chassis that contains all systems.
func (b *Redfish) box() object {
	return object{
		"@odata.id":   boxPath,
		"@odata.type": "#Chassis.v1_25_0.Chassis",
		"Id":          "1",
		"Name":        "Chassis",
		"ChassisType": "RackMount",
		"Status":      healthy(),
		"Links": object{
			"ComputerSystems": links(b.systemPaths()),
			"ManagedBy":       links([]string{managerPath}),
		},
	}
}

func (s *system) path() string { return systemsPath + "/" + s.id }

func (s *system) object() object {
	return object{
		"@odata.id":        s.path(),
		"@odata.type":      "#ComputerSystem.v1_22_0.ComputerSystem",
		"Id":               s.id,
		"Name":             s.name,
		"SystemType":       "Physical",
		"Manufacturer":     "ironstate",
		"Model":            "bmctest",
		"Status":           healthy(),
		"PowerState":       s.powerAt(time.Now()),
		"MemorySummary":    object{"TotalSystemMemoryGiB": 64},
		"ProcessorSummary": object{"Count": 2, "LogicalProcessorCount": 32},
		"Boot": object{
			"BootSourceOverrideTarget":                          s.boot.Target,
			"BootSourceOverrideTarget@Redfish.AllowableValues":  bootTargets,
			"BootSourceOverrideEnabled":                         s.boot.Enabled,
			"BootSourceOverrideEnabled@Redfish.AllowableValues": bootEnabled,
			"BootSourceOverrideMode":                            s.boot.Mode,
			"BootSourceOverrideMode@Redfish.AllowableValues":    bootModes,
		},
		"Actions": object{"#ComputerSystem.Reset": object{
			"target":                            s.path() + resetPath,
			"ResetType@Redfish.AllowableValues": resetTypes(),
		}},
		"Links": object{
			"Chassis":   links([]string{boxPath}),
			"ManagedBy": links([]string{managerPath}),
		},
	}
}

func (b *Redfish) systemPaths() []string {
	var paths []string
	for _, s := range b.systems {
		paths = append(paths, s.path())
	}
	return paths
}

func (b *Redfish) sessionPaths() []string {
	b.expireSessions()
	var paths []string
	for _, s := range b.sessions {
		paths = append(paths, s.path())
	}
	return paths
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
