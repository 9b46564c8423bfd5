// SPDX-License-Identifier: Apache-2.0

package differ

import "regexp"

// Intended is a kind of intended differences.
type Intended struct {
	Pattern *regexp.Regexp // of the names of the classes
	Name    string
	Reason  string
}

// Known lists the intended differences. The first pattern that matches the name of a class
// counts.
var Known = []Intended{
	{
		regexp.MustCompile(`: 500 -> (4\d\d): `), "a Python exception",
		"Ironic fails by a Python exception, often because a path has too many segments or a body is no JSON; ironstate refuses the request and says why",
	},
	{
		regexp.MustCompile(`^GET .*: 500 -> 200: `), "a Python exception on a GET",
		"Ironic fails by a Python exception, such as for a sort key that is no column; ironstate answers",
	},
	{
		regexp.MustCompile(`^PATCH /v1/(nodes|portgroups|ports)/{}.*: 500 -> 200: fault «('Q'»|'Q' object has no attribute 'Q'»|object of type 'Q' has no len\(\)»|Field ` + "`maintenance'" + ` cannot be None»|\(sqliteN\.IntegrityError\))`), "a Python exception on a PATCH",
		"Ironic fails by a Python exception when a description is set to null, maintenance or a conductor group is removed, or a port or a port group is moved; ironstate does it",
	},
	{
		regexp.MustCompile(`^P(ATCH|OST) .*: 500 -> 20\d: fault «Field .* cannot be None»`), "a Python exception on a null",
		"Ironic fails by a Python exception when a boolean is set to null or removed; ironstate sets its default",
	},
	{
		regexp.MustCompile(`-> 404: fault .* -> bare «»$|{extra segment}: 400 body: |/console {empty segment}: 400 body: `), "too many path segments",
		"Ironic checks the arguments before it fails on a path with too many segments; for ironstate the path does not exist",
	},
	{
		regexp.MustCompile(`{Accept: [^}]*}: 40\d body: «{"Q": .* -> bare `), "Accept of something else",
		"Ironic wraps HTML or plain text in its JSON; that of ironstate is JSON within",
	},
	{
		regexp.MustCompile(`-> fault «The Content-Type of a request with a body must be application/json.»$`), "a body that is not declared as JSON",
		"Ironic ignores the body, or takes it for the name of an argument, and may report success; ironstate refuses the request and says why",
	},
	{
		regexp.MustCompile(`-> fault «The request body is not JSON: `), "a broken body",
		"Ironic ignores the body and misses an argument; ironstate says where the body is broken",
	},
	{
		regexp.MustCompile(`: 400 body: bare «» -> bare «The request body is not UTF-N.»$`), "a broken body",
		"Ironic's refusal has no text",
	},
	{
		regexp.MustCompile(`«Expected (string|types [^»]*) for rescue_password: .* -> fault «Expected string for rescue_password»$`), "secrets",
		"Ironic's refusal repeats a value that may be a secret, such as the rescue password",
	},
	{
		regexp.MustCompile(`-> fault «Schema error for \w+: The value |for configdrive: .* for configdrive»$|-> .*'\*{6}'|` +
			`: fault «Couldn'Q'{'Q': 'Q', 'Q': 'Q', 'Q': .* -> fault «Couldn'Q'{'Q': 'Q', 'Q': 'Q', 'Q': 'Q'}`), "secrets",
		"Ironic's refusal repeats a value that may be a secret, such as the rescue password",
	},
	{
		regexp.MustCompile(`^PATCH .*: 400 body: fault «Couldn'Q'.*'Q'id'Q'uuid'Q'UUID'Q'.* -> fault «Couldn'Q'`), "the record in a refused patch",
		"Ironic prints the record of its database, with its number; ironstate prints the fields that a client can patch",
	},
	{
		regexp.MustCompile(`^PATCH .*: 400 body in another order: fault «Couldn'Q'`), "the order of keys",
		"in the text of a refused patch Ironic prints the keys of an object as they were sent; ironstate sorts them, so that equal requests have equal answers",
	},
	{
		regexp.MustCompile(`^PATCH /v1/ports/{}.*: 409 body in another order: fault «Port UUID can not have any connectivity attributes `), "the order of names",
		"Ironic prints the names of the fields in another order after each start",
	},
	{
		regexp.MustCompile(`^(PATCH|POST) .*: (20[01] body|record)\.(properties|driver_info|instance_info)\.\*: «\*{6}» -> null$`), "a secret that is null",
		"Ironic hides the value; ironstate shows that there is none",
	},
	{
		regexp.MustCompile(`^GET /v1/nodes/{}/(ports|portgroups|volume/connectors|volume/targets).*: 404 -> (200|400|406): fault «(Node NODE|Portgroup None) could not be found`), "lists below a node by its name",
		"Ironic finds the node by its UUID only, and says that the node, or the port group None, does not exist",
	},
	{
		regexp.MustCompile(`^GET /v1/portgroups/{}/ports.*: 404 -> (200|400|406): fault «Portgroup [^»]* could not be found`), "ports of a port group by its name",
		"Ironic finds the port group by its UUID only, and says that it does not exist",
	},
	{
		regexp.MustCompile(`^GET /v1/drivers/{}/raid/logical_disk_properties.*: 200 body\.`), "descriptions of RAID properties",
		"the descriptions are prose, which is not copied; ironstate says the same in its own words",
	},
	{
		regexp.MustCompile(`^GET /v1/\w+/detail {trailing slash}: 404 -> 200: `), "a slash after /detail",
		"Ironic knows the path of a list without the slash only",
	},
	{
		regexp.MustCompile(`-> fault «Invalid (clean|deploy)_steps: The value `), "secrets",
		"Ironic's refusal repeats a value that may be a secret, such as the rescue password",
	},
	{
		regexp.MustCompile(`: record\.(last_error|maintenance_reason): «Node UUID failed step {[^»]*» -> «Node UUID failed step {[^»]*»$`), "wrong arguments of a step",
		"Ironic prints an exception of Python; ironstate says what is wrong",
	},
	{
		regexp.MustCompile(`/validate.*: 200 body\.(boot|deploy)\.(result: false -> true|reason: «.*(does not have any port|Missing are: |were missing).*» -> absent)`), "parameters that fake-hardware does not need",
		"Ironic's fake-hardware checks the parameters of its interfaces pxe, ipxe and direct; ironstate boots no machine and writes no image, and needs none",
	},
	{
		regexp.MustCompile(`/states/provision.*: record\.(driver_internal_info\.(agent_\w+|disk_erasure_concurrency|last_power_state_change): .* -> absent|driver_internal_info\.clean_steps: null -> absent|power_state: «power on» -> (null|«power off»))$`), "the agent of fake-hardware",
		"Ironic's fake-hardware with the deploy interface direct switches the machine on and has options for an agent; ironstate has no machine that an agent could run on",
	},
	{
		regexp.MustCompile(`^PUT .*/states/console.*: record\.(last_error: «[^»]*Field .console_enabled' cannot be None» -> null|console_enabled: true -> false)$`), "a console set to null",
		"Ironic accepts the request, removes the last error and then fails by a Python exception; ironstate takes null for false",
	},
	{
		regexp.MustCompile(`: record\.instance_info\.\*: «\*{6}» -> absent$`), "a rescue password after its use",
		"Ironic's fake-hardware keeps the password of a rescue that has ended; ironstate removes it",
	},
	{
		regexp.MustCompile(`: record\.last_error: «Failed to process allocation`), "the error of an allocation",
		"Ironic prints a Python object for the list of traits; ironstate prints the traits",
	},
	{
		regexp.MustCompile(`^PATCH /v1/deploy_templates/{}.*: (200 body\.updated_at: null -> «N-N-NTN:N:N.N\+N:N»|record\.updated_at(: null -> «N-N-NTN:N:N.N\+N:N»| changed: false -> true)|(200 body|record)\.steps: in another order)$`), "changed steps of a deploy template",
		"Ironic keeps the steps in a table of their own: a change of them is no update of the template, and a step that was there before stays in front",
	},
	{
		regexp.MustCompile(`^PATCH /v1/deploy_templates/{}.*: 200 -> 400: accepted -> fault «Schema error for patch: Additional properties are not allowed`), "unknown keys of a step",
		"Ironic refuses them in a POST and drops them in a PATCH; ironstate refuses them",
	},
	{
		regexp.MustCompile(`^P(OST|ATCH) /v1/deploy_templates.*: 20[01] body.steps\[\].priority: «N» -> number$`), "a priority in quotes",
		"Ironic repeats the text, and shows a number from then on; ironstate shows the number",
	},
	{
		regexp.MustCompile(`^PATCH /v1/ports/{}.*: 200 -> 400: accepted -> fault «Port can not be added to a portgroup belonging to a different node.»$`), "a port group of another node",
		"Ironic accepts the port group if the patch removes the old one first; ironstate refuses it",
	},
	{
		regexp.MustCompile(`^PATCH /v1/ports/{}.*: (200 -> 400: accepted -> fault «Portgroup UUID could not be found.»|(200 body|record)\.portgroup_uuid: null -> «UUID»)$`), "a port group after another field",
		"Ironic looks at the first operation of the patch only, reports success and does not change the port group that a later one sets; ironstate changes it",
	},
	{
		regexp.MustCompile(`^PATCH /v1/ports/{}.*: 409 -> 200: fault «Port UUID can not have any connectivity attributes .*» -> accepted$`), "an empty link that is removed",
		"Ironic takes the removal of an empty local_link_connection for a change of the port; ironstate sees none",
	},
	{
		regexp.MustCompile(`/states/boot_mode.*: 409 body: fault «Node is in %\(state\)s state\.`), "a placeholder",
		"Ironic prints the placeholder of the node's state; ironstate prints the state",
	},
	{
		regexp.MustCompile(`^POST /v1/ports.*: 201 -> 409: accepted -> fault «Port group UUID doesn'Q's 'Q' field was set to True.»$`), "a port that would boot alone",
		"Ironic checks pxe_enabled only if it is given, although its default is true; ironstate checks the default too",
	},
	{
		regexp.MustCompile(`^PATCH /v1/(ports|portgroups|volume/connectors|volume/targets)/{}.*: (200 -> 400|400 body): .* -> fault «Unable to apply the requested node_uuid 'Q'. Requested value was invalid.»$`), "a node of another owner",
		"Ironic of this release moves a port, a port group or a volume to a node of another owner (CVE-2026-44918)",
	},
	{
		regexp.MustCompile(`^POST /v1/allocations.*: record(\.(allocation_uuid|instance_uuid): (null -> «UUID»|«UUID» -> null)|\.instance_info\.\*: (absent -> list|list -> absent)| only in \w+)$`), "the node of an allocation",
		"both choose one of the nodes that fit at random, so that two answers of Ironic differ too",
	},
	{
		regexp.MustCompile(`: 200 body.next: `), "the link to the next page",
		"Ironic forgets filters in the link; ironstate repeats all of them",
	},
	{
		regexp.MustCompile(`^PATCH /v1/nodes/{}.*: (200 body|record).retired: null -> false$`), "retired after its removal",
		"Ironic shows null for a boolean field that was removed, until it is set again; ironstate shows its default",
	},
	{
		regexp.MustCompile(`/vendor_passthru/methods.*: 200 body\.\w+: (absent -> object|object -> absent)$`), "vendor methods",
		"Ironic keeps the methods of the first node that is asked for all nodes of the driver, whatever their vendor interface",
	},
	{
		regexp.MustCompile(`: fault «[^»]* for node N .*-> fault «[^»]* for node UUID `), "the node's number",
		"Ironic names the node by its number in the database, ironstate by its UUID",
	},
	{
		regexp.MustCompile(`-> fault «The rescue password cannot be used`), "a rescue password that is too long",
		"ironstate refuses a password that its hash would cut off",
	},
}

// intended returns why a class is intended, or nil if it is not.
func intended(class string) *Intended {
	for i := range Known {
		if Known[i].Pattern.MatchString(class) {
			return &Known[i]
		}
	}
	return nil
}
