// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
)

// sample selects at most n mutants of the files that a commit touches, and at most n of
// the others. The commit's hash is the seed, so that each run for a commit selects the
// same mutants.
func sample(ctx context.Context, commit string, n int, all []mutant) ([]mutant, error) {
	hash, err := git(ctx, "rev-parse", "--verify", commit+"^{commit}")
	if err != nil {
		return nil, err
	}
	touched, err := git(ctx, "show", "--first-parent", "-m", "--format=", "--name-only", commit)
	if err != nil {
		return nil, err
	}
	return choose(hash, strings.Split(touched, "\n"), n, all), nil
}

// choose is sample without git.
func choose(seed string, touched []string, n int, all []mutant) []mutant {
	all = slices.Clone(all)
	random := rand.New(rand.NewChaCha8(sha256.Sum256([]byte(seed))))
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var first, others []mutant
	for _, m := range all {
		if slices.Contains(touched, m.file) {
			first = append(first, m)
		} else {
			others = append(others, m)
		}
	}
	return slices.Concat(first[:min(n, len(first))], others[:min(n, len(others))])
}

func git(ctx context.Context, args ...string) (string, error) {
	output, err := exec.CommandContext(ctx, "git", args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, output)
	}
	return strings.TrimSpace(string(output)), nil
}
