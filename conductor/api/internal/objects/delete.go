// SPDX-License-Identifier: Apache-2.0

package objects

import "github.com/ironstate/ironstate/conductor/api/internal/rest"

// delete answers a DELETE.
func (x *resource) delete(r *rest.Request) (rest.Answer, error) {
	return x.orders.delete.Or(usual.delete).Then(x.request, (*request).removed)(r)
}

// removed removes the record.
func (q *request) removed() (rest.Answer, error) { return rest.NoContent, q.remove(q.r, q.record) }
