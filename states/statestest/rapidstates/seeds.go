// SPDX-License-Identifier: Apache-2.0

package rapidstates

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

const (
	seedCount = 128
	// seedWords is the length of a seed in words of 8 bytes. rapid draws a value from one or more of them, and the longest
	// walk from about 250.
	seedWords = 512
	// lengthens is a bit of a word with which rapid continues a slice more often than it ends it.
	//
	// Source: flipBiasedCoin in utils.go of rapid v1.3.0.
	lengthens = 1 << 52
)

// AddSeeds adds inputs to a fuzz target of [rapid.MakeFuzz]: 128 times 4 KiB, the same in every run, from which rapid
// draws long walks. Without them Go's fuzzer begins with an empty input and tries short ones, which rapid skips if they
// are too short for the values that the property draws. A plain `go test` runs the property with the seeds.
func AddSeeds(f *testing.F) {
	for _, seed := range seeds() {
		f.Add(seed)
	}
}

func seeds() [][]byte {
	random := rand.New(rand.NewPCG(0, 0))
	all := make([][]byte, seedCount)
	for i := range all {
		for range seedWords {
			all[i] = binary.LittleEndian.AppendUint64(all[i], random.Uint64()|lengthens)
		}
	}
	return all
}
