// SPDX-License-Identifier: Apache-2.0

package states

import (
	"iter"
	"strconv"
)

// Series is a release series of OpenStack, Kilo to Hibiscus. They are in order:
// a later series is the greater number. The zero value is [NoSeries].
//
// Upstream names series by code name until Zed and by year and half since;
// String follows it, the constants are the code names.
type Series uint8

// NoSeries is the absence of a series, "none" as text. It has no table.
const NoSeries Series = 0

// Each series with the release of Ironic that its table was read from, the last
// of the series, and its highest API version.
const (
	Kilo      Series = NoSeries + 1 + iota // Ironic 2015.1.4, API 1.6
	Liberty                                // Ironic 4.2.5, API 1.14
	Mitaka                                 // Ironic 5.1.3, API 1.16
	Newton                                 // Ironic 6.2.4, API 1.22
	Ocata                                  // Ironic 7.0.7, API 1.31
	Pike                                   // Ironic 9.1.7, API 1.34
	Queens                                 // Ironic 10.1.10, API 1.38
	Rocky                                  // Ironic 11.1.4, API 1.46
	Stein                                  // Ironic 12.1.6, API 1.56
	Train                                  // Ironic 13.0.7, API 1.58
	Ussuri                                 // Ironic 15.0.2, API 1.65
	Victoria                               // Ironic 16.0.5, API 1.68
	Wallaby                                // Ironic 17.0.4, API 1.72
	Xena                                   // Ironic 18.2.2, API 1.78
	Yoga                                   // Ironic 20.1.3, API 1.78
	Zed                                    // Ironic 21.1.2, API 1.80
	Antelope                               // 2023.1, Ironic 21.4.4, API 1.82
	Bobcat                                 // 2023.2, Ironic 23.0.5, API 1.87
	Caracal                                // 2024.1, Ironic 24.1.5, API 1.90
	Dalmatian                              // 2024.2, Ironic 26.1.6, API 1.93
	Epoxy                                  // 2025.1, Ironic 29.0.6, API 1.96
	Flamingo                               // 2025.2, Ironic 32.0.1, API 1.101
	Gazpacho                               // 2026.1, Ironic 35.0.1, API 1.111
	Hibiscus                               // 2026.2, Ironic 39.0.0, API 1.115
)

var seriesWords = newVocabulary("series", []string{
	NoSeries:  "none",
	Kilo:      "kilo",
	Liberty:   "liberty",
	Mitaka:    "mitaka",
	Newton:    "newton",
	Ocata:     "ocata",
	Pike:      "pike",
	Queens:    "queens",
	Rocky:     "rocky",
	Stein:     "stein",
	Train:     "train",
	Ussuri:    "ussuri",
	Victoria:  "victoria",
	Wallaby:   "wallaby",
	Xena:      "xena",
	Yoga:      "yoga",
	Zed:       "zed",
	Antelope:  "2023.1",
	Bobcat:    "2023.2",
	Caracal:   "2024.1",
	Dalmatian: "2024.2",
	Epoxy:     "2025.1",
	Flamingo:  "2025.2",
	Gazpacho:  "2026.1",
	Hibiscus:  "2026.2",
}).inAnyCase(map[string]Series{ // the code names of the series that upstream names by year and half
	"antelope":  Antelope,
	"bobcat":    Bobcat,
	"caracal":   Caracal,
	"dalmatian": Dalmatian,
	"epoxy":     Epoxy,
	"flamingo":  Flamingo,
	"gazpacho":  Gazpacho,
	"hibiscus":  Hibiscus,
})

// apiMaximum holds the minor number of each series' highest API version.
// Source: ironic/api/controllers/v1/versions.py.
var apiMaximum = [...]APIVersion{
	Kilo:      6,
	Liberty:   14,
	Mitaka:    16,
	Newton:    22,
	Ocata:     31,
	Pike:      34,
	Queens:    38,
	Rocky:     46,
	Stein:     56,
	Train:     58,
	Ussuri:    65,
	Victoria:  68,
	Wallaby:   72,
	Xena:      78,
	Yoga:      78,
	Zed:       80,
	Antelope:  82,
	Bobcat:    87,
	Caracal:   90,
	Dalmatian: 93,
	Epoxy:     96,
	Flamingo:  101,
	Gazpacho:  111,
	Hibiscus:  115,
}

// ParseSeries returns the series of a word: one that String prints ("kilo",
// "2026.2") or a code name ("hibiscus"), in small or capital letters. "none" and
// the empty text are NoSeries. Any other word is an [*UnknownError].
func ParseSeries(word string) (Series, error) { return parse[Series](seriesWords, word) }

// AllSeries ranges over every series from Kilo to the latest. NoSeries is left
// out.
func AllSeries() iter.Seq[Series] { return all[Series](seriesWords) }

// Latest returns the newest series that this module knows.
func Latest() Series { return Series(len(apiMaximum) - 1) }

// MaxAPIVersion returns the highest API version that the series answers to, or
// [NoAPIVersion] for a number that is no series.
func (s Series) MaxAPIVersion() APIVersion {
	if int(s) >= len(apiMaximum) {
		return NoAPIVersion
	}
	return apiMaximum[s]
}

// String returns the name of the series as upstream writes it, or a form like
// "Series(99)" for a number that is none.
func (s Series) String() string { return seriesWords.word(uint8(s), "Series") }

// GoString returns the word in quotes, which is how %#v, and with it testify and
// rapid, print a Series.
func (s Series) GoString() string { return strconv.Quote(s.String()) }

// MarshalText returns String. A number that is no series is an [*UnknownError].
func (s Series) MarshalText() ([]byte, error) { return marshalText(seriesWords, uint8(s), s) }

// UnmarshalText is [ParseSeries]; s keeps its value on error.
func (s *Series) UnmarshalText(text []byte) error { return setWord(s, seriesWords, string(text)) }
