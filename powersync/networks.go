package powersync

// networks bounds how many nodes of a BMC network are looked at at a time. Nodes
// whose network is full are held, some of each worker's worth, so that others go
// first and memory does not grow with the fleet.
type networks struct {
	of      func(id string) string
	room    int // in each network
	busy    map[string]int
	waiting map[string][]string
	held    int   // nodes in waiting
	most    int   // to hold
	ready   []job // held no longer

	done   chan job      // from the workers; nil where networks have no bound
	closed chan struct{} // nobody listens to done any more
}

const heldPerWorker = 4

func newNetworks(c *Config) networks {
	return networks{
		of:      c.Network,
		room:    c.PerNetwork,
		busy:    make(map[string]int),
		waiting: make(map[string][]string),
		most:    heldPerWorker * buffered(c.Workers),
		done:    make(chan job, buffered(c.Workers)),
		closed:  make(chan struct{}),
	}
}

// admit returns the job of a node whose network has room, and holds others.
func (n *networks) admit(id string) (job, bool) {
	network := n.networkOf(id)
	if n.busy[network] < n.room {
		n.busy[network]++
		return job{id, network}, true
	}
	n.waiting[network] = append(n.waiting[network], id)
	n.held++
	return job{}, false
}

// networkOf is the function that the user gave. Nodes at which it panics are in
// a network of their own.
func (n *networks) networkOf(id string) (network string) {
	var err error
	defer recoverTo(&err)
	return n.of(id)
}

// leave notes that a node was looked at, and lets the next one of its network
// in.
func (n *networks) leave(j job) {
	waiting := n.waiting[j.network]
	if len(waiting) == 0 {
		delete(n.waiting, j.network)
		if n.busy[j.network]--; n.busy[j.network] == 0 {
			delete(n.busy, j.network)
		}
		return
	}
	n.ready = append(n.ready, job{waiting[0], j.network})
	n.waiting[j.network] = waiting[1:]
	n.held--
}

// report tells that a node was looked at. It is called by workers.
func (n *networks) report(j job) {
	select {
	case n.done <- j:
	case <-n.closed:
	}
}
