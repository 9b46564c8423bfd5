package powersync

// Defaults of a Config.
const (
	DefaultWorkers     = defaultWorkers
	DefaultMaxRetries  = defaultMaxRetries
	DefaultTimeout     = defaultTimeout
	DefaultSoftTimeout = defaultSoftTimeout
)

// Outcomes has every outcome, in the order of reports.
var Outcomes = outcomes

// ErrAbandoned is matched by the error of a call that does not return.
var ErrAbandoned = errAbandoned

// The outcomes of nodes that were left alone.
const (
	SkippedDeployWait     = skippedDeployWait
	SkippedCleanWait      = skippedCleanWait
	SkippedAdoptFail      = skippedAdoptFail
	SkippedMaintenance    = skippedMaintenance
	SkippedNoPowerFailure = skippedNoPowerFailure
	SkippedTarget         = skippedTarget
	SkippedReservation    = skippedReservation
	SkippedConfig         = skippedConfig
	SkippedBackoff        = skippedBackoff
	SkippedChanged        = skippedChanged
	SkippedGone           = skippedGone
)
