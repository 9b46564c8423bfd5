// SPDX-License-Identifier: Apache-2.0

package objects

import "github.com/ironstate/ironstate/conductor/api/internal/rest"

// delete answers a DELETE.
func (x *resource) delete(r *rest.Request) (rest.Answer, error) {
	if err := r.CheckArgs(r.QueryArgs()); err != nil {
		return rest.Answer{}, err
	}
	q := &request{resource: x, r: r}
	if err := x.orders.delete.Or(usual.delete).Fault(q); err != nil {
		return rest.Answer{}, err
	}
	return rest.NoContent, x.remove(r, q.record)
}
