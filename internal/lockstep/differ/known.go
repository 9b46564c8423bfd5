package differ

import "regexp"

// Known lists the classes of differences that are intended. A class is listed by the
// first pattern that matches its name.
var Known = []struct {
	Pattern *regexp.Regexp
	Reason  string
}{
	{regexp.MustCompile(`: 500 -> 4\d\d: `), "Ironic fails by a Python exception; ours refuses the request and says why"},
}

// reason returns why a class is intended, or an empty text.
func reason(class string) string {
	for _, k := range Known {
		if k.Pattern.MatchString(class) {
			return k.Reason
		}
	}
	return ""
}
