// SPDX-License-Identifier: Apache-2.0

package bmctest

// Effects that only [Effects] returns.
var (
	BadJSON         = malformedJSON
	BareLocation    = bareLocation
	Body            = jsonBody
	Drip            = drip
	Echo            = echo
	EndlessBody     = endlessBody
	EscapedLocation = escapedLocation
	Garbage         = garbage
	GzipBomb        = gzipBomb
	HTMLPage        = htmlPage
	Locked          = lockedAccount
	LongBody        = longBody
	LongError       = longError
	Members         = manyMembers
	NamelessSession = namelessSession
	PlainHTTP       = plainHTTP
	Raw             = raw
	RedirectLoop    = redirectLoop
	RedirectTo      = redirectTo
	Silent          = silent
	TruncatedJSON   = truncatedJSON
	Unavailable     = unavailable
	WithoutBody     = withoutBody
	WithoutHeader   = withoutHeader
)
