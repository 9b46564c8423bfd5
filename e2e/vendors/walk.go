// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"
)

// bounds limit the resources that are read from a BMC, which is not trusted.
type bounds struct {
	resources int   // in number
	links     int   // from the service root to a resource
	size      int64 // bytes of all resources
	failures  int   // requests that fail one after the other
}

var defaultBounds = bounds{resources: 20_000, links: 40, size: 1 << 30, failures: 20}

const (
	segments = 32  // of a path
	segment  = 200 // bytes, which every file system takes
)

// walk is one walk over the resources of a BMC.
type walk struct {
	bounds
	get      func(ctx context.Context, path string) (object, int64, error)
	progress func(w *walk, path string) // called before each request; may be nil

	found   map[string]object // by path, without those that tell what happened
	unread  []string          // the resources that could not be read, and why
	waiting []visit
	size    int64
}

type visit struct {
	path  string
	links int
}

// run reads every resource to which links lead. The error says why it has stopped; found has the resources that were
// read by then.
func (w *walk) run(ctx context.Context) error {
	w.found, w.waiting = map[string]object{}, []visit{{root, 0}}
	seen := map[string]bool{root: true}
	failures := 0
	for len(w.waiting) > 0 {
		next := w.waiting[0]
		w.waiting = w.waiting[1:]
		o, err := w.read(ctx, next.path)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && next.path == root:
			return fmt.Errorf("read the service root: %w", err)
		case err != nil:
			w.unread = append(w.unread, fmt.Sprintf("%s: %v", next.path, err))
			if failures++; failures == w.bounds.failures {
				return fmt.Errorf("%d requests in a row have failed, the last: %w", failures, err)
			}
			continue
		}
		failures = 0
		if o = withoutDiary(next.path, o); o == nil {
			continue
		}
		w.found[next.path] = o
		for _, link := range links(o) {
			switch id := key(link); {
			case seen[id]:
			case len(seen) == w.resources:
				return fmt.Errorf("the BMC has more than %d resources", w.resources)
			default:
				seen[id] = true
				if next.links < w.links {
					w.waiting = append(w.waiting, visit{link, next.links + 1})
				} else {
					w.unread = append(w.unread, fmt.Sprintf("%s: more than %d links away", link, w.links))
				}
			}
		}
	}
	return nil
}

// read reads a resource, and a collection with its further pages.
func (w *walk) read(ctx context.Context, path string) (object, error) {
	first := object(nil)
	pages := map[string]bool{}
	for {
		if w.progress != nil {
			w.progress(w, path)
		}
		o, size, err := w.get(ctx, path)
		if w.size += size; err == nil && w.size > w.bounds.size {
			err = fmt.Errorf("all resources together have more than %d bytes", w.bounds.size)
		}
		switch {
		case err != nil:
			return nil, err
		case first == nil:
			first = o
		default:
			members, _ := first["Members"].([]any)
			more, _ := o["Members"].([]any)
			first["Members"] = append(members, more...)
		}
		const further = "Members@odata.nextLink"
		next, _ := o[further].(string)
		delete(first, further)
		pages[path] = true
		if pages[next] || len(pages) == w.resources || !strings.HasPrefix(key(next), root+"/") {
			return first, nil
		}
		path = next
	}
}

// withoutDiary returns nil for a resource that tells what happened or who uses the BMC, such as an entry of a log, and
// a collection of such resources without them.
func withoutDiary(path string, o object) object {
	schema, _ := o["@odata.type"].(string)
	if !diaries.MatchString(schema) && !diaryPath.MatchString(path) {
		return o
	}
	if _, ok := o["Members"].([]any); !ok {
		return nil
	}
	return object{"@odata.id": o["@odata.id"], "@odata.type": schema, "Name": o["Name"], "Members": []any{}, "Members@odata.count": 0}
}

// links returns the paths of the resources to which a resource links, without fragments, sorted. Only the file of a
// registry may be elsewhere than below the service root, as Supermicro's are.
func links(o object) []string {
	var found []string
	var search func(name string, value any)
	search = func(name string, value any) {
		switch value := value.(type) {
		case object:
			for name, value := range value {
				search(name, value)
			}
		case []any:
			for _, element := range value {
				search(name, element)
			}
		case string:
			if slices.Contains([]string{"@odata.id", "@Redfish.ActionInfo", "Uri", "extref"}, name) {
				if path, ok := clean(value); ok && (name == "Uri" || strings.HasPrefix(key(path), root+"/")) {
					found = append(found, path)
				}
			}
		}
	}
	search("", o)
	slices.Sort(found)
	return slices.Compact(found)
}

// clean returns the path of a link without its fragment and a slash at its end. It reports whether it is the path of a
// resource whose name can name a folder. The schemas are the same everywhere, and are left out.
func clean(link string) (string, bool) {
	link, _, _ = strings.Cut(link, "#")
	link = strings.TrimRight(strings.TrimSuffix(link, "/."), "/")
	id := key(link)
	schema := strings.HasPrefix(id, root+"/jsonschemas") || strings.HasPrefix(id, root+"/schemastore")
	if !strings.HasPrefix(id, "/") || id == root || schema || path.Clean(link) != link {
		return "", false
	}
	parts := strings.Split(link[1:], "/")
	for _, part := range parts {
		plain, err := url.PathUnescape(part)
		odd := func(c rune) bool { return strings.ContainsRune(`/\?`, c) || unicode.IsControl(c) }
		if err != nil || len(part) > segment || slices.Contains([]string{".", "..", "index.json"}, plain) || strings.ContainsFunc(plain, odd) {
			return "", false
		}
	}
	if strings.HasPrefix(id, root+"/") {
		link = root + link[len(root):] // some spell it in another case
	}
	return link, len(parts) <= segments
}
