//go:build unix

package faultmatrix

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
)

// names is the name server of the matrix: each cell that needs a name registers its own, which is then 127.0.0.1.
// Every other name does not exist.
var names = &zone{known: map[string]bool{}}

type zone struct {
	mu    sync.Mutex
	known map[string]bool
}

func (z *zone) learn(host string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.known[host+"."] = true
}

func (z *zone) forget(host string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	delete(z.known, host+".")
}

// resolver asks the zone over pipes, as if by TCP.
func (z *zone) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go z.serve(server)
		return client, nil
	}}
}

func (z *zone) serve(conn net.Conn) {
	defer conn.Close()
	var size uint16
	for binary.Read(conn, binary.BigEndian, &size) == nil {
		query := make([]byte, size)
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		answer, err := z.answer(query)
		if err != nil {
			return
		}
		framed := binary.BigEndian.AppendUint16(nil, uint16(len(answer)))
		if _, err := conn.Write(append(framed, answer...)); err != nil {
			return
		}
	}
}

func (z *zone) answer(query []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil || len(m.Questions) != 1 {
		return nil, fmt.Errorf("no question: %w", err)
	}
	q := m.Questions[0]
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	z.mu.Lock()
	known := z.known[q.Name.String()]
	z.mu.Unlock()
	switch {
	case !known:
		m.RCode = dnsmessage.RCodeNameError
	case q.Type == dnsmessage.TypeA:
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1},
			Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
		}}
	}
	return m.Pack()
}

// labelled runs f so that every goroutine that comes of it can be told.
func labelled(ctx context.Context, cell string, f func(context.Context)) {
	pprof.Do(ctx, pprof.Labels("cell", cell), f)
}

// census lists the goroutines of the process with their labels. It stops the world, so cells share what is taken at
// most once in a while.
var census struct {
	mu     sync.Mutex
	taken  time.Time
	stacks []string
}

const censusEvery = 200 * time.Millisecond

// goroutines returns the stacks of all goroutines, as they are after the call.
func goroutines() []string {
	asked := time.Now()
	census.mu.Lock()
	defer census.mu.Unlock()
	if census.taken.After(asked) {
		return census.stacks
	}
	timer := time.NewTimer(censusEvery - time.Since(census.taken))
	defer timer.Stop()
	<-timer.C
	census.taken = time.Now()
	var all bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&all, 1) // to memory
	census.stacks = strings.Split(all.String(), "\n\n")
	return census.stacks
}

// goroutinesOf returns the stacks of the goroutines that came of a cell.
func goroutinesOf(cell string) string {
	mark := `"cell":` + strconv.Quote(cell)
	var left []string
	for _, stack := range goroutines() {
		if strings.Contains(stack, mark) {
			left = append(left, stack)
		}
	}
	return strings.Join(left, "\n\n")
}

// socketsTo counts the sockets that this process holds to a port of 127.0.0.1. It reports false where the system does
// not list descriptors.
func socketsTo(hostport string) (int, bool) {
	_, text, _ := net.SplitHostPort(hostport)
	port, err := strconv.Atoi(text)
	entries, listErr := os.ReadDir("/dev/fd")
	if err != nil || listErr != nil {
		return 0, false
	}
	held := 0
	for _, entry := range entries {
		fd, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		peer, err := unix.Getpeername(fd) // of what is no socket, or was closed meanwhile, there is none
		if v4, ok := peer.(*unix.SockaddrInet4); err == nil && ok && v4.Port == port {
			held++
		}
	}
	return held, true
}

// descriptors counts the open files of this process; false where the system does not list them.
func descriptors() (int, bool) {
	entries, err := os.ReadDir("/dev/fd")
	return len(entries), err == nil
}

// soon asks until cond holds, for a time in which it must.
func soon(within time.Duration, cond func() bool) bool {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline.C:
			return cond()
		}
	}
	return true
}
