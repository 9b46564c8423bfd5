// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"fmt"
	"time"

	"github.com/ironstate/ironstate/internal/boundedcall"
)

// askTimeout bounds the methods of a hardware type that have no context. They read the node's record and not the
// hardware. With stepGrace it is shorter than reportTimeout, since the end of work asks within an attempt to store it.
const askTimeout = 5 * time.Second

// ask calls methods of a hardware type that have no context. If the call panics or does not return in time, ask returns
// the context's error if the context has ended, and otherwise a [*HardwareError] that names what was asked for, such as
// "its steps".
func ask[T any](ctx context.Context, what string, f func() T) (T, error) {
	limited, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answer, err := boundedcall.Do(limited, stepGrace, func(context.Context) (T, error) { return f(), nil })
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil:
		return answer, context.Cause(ctx)
	default:
		return answer, &HardwareError{fmt.Errorf("the hardware type could not be asked for %s: %w", what, err)}
	}
}
