package devstate

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Where things are in the directory.
const (
	lockFile = "lock"
	// EtcdData is etcd's data, Certificates what kube-apiserver identifies itself by.
	EtcdData     = "etcd"
	Certificates = "apiserver"
)

// Lock takes the directory, which must exist, for this process. When another has it, the error says which, and how to
// end it.
func Lock(dir string) (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Clean(filepath.Join(dir, lockFile)), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer file.Close()
		return nil, occupied(dir, file, err)
	}
	if err := errors.Join(file.Truncate(0), write(file, os.Getpid())); err != nil {
		return nil, errors.Join(fmt.Errorf("state directory: %w", err), file.Close())
	}
	return func() { _ = file.Close() }, nil
}

func write(file *os.File, pid int) error {
	_, err := fmt.Fprintf(file, "%d\n", pid)
	return err
}

// occupied names the process that has the directory.
func occupied(dir string, file *os.File, err error) error {
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("lock of the state directory: %w", err)
	}
	pid := make([]byte, 20)
	n, _ := file.ReadAt(pid, 0) // it reads less than there is room for
	return fmt.Errorf("process %[2]s runs on %[1]s already; stop it with `kill %[2]s`, or give another --dir",
		dir, cmp.Or(strings.TrimSpace(string(pid[:n])), "?"))
}

// Empty makes sure that a directory of this name in dir exists and holds nothing.
func Empty(dir, name string) error {
	path := filepath.Join(dir, name)
	if err := errors.Join(os.RemoveAll(path), os.MkdirAll(path, 0o700)); err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	return nil
}
