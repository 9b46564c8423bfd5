// SPDX-License-Identifier: Apache-2.0

package inspectionrules

// HasNodeAttribute reports whether rules know an attribute of nodes, of any kind.
func HasNodeAttribute(name string) bool { return attributesOfNodes[name] != unknown }
