package devstate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// CheckFree refuses a directory whose etcd data is held by something that is no leftover of ours: etcd would wait for
// it without a word.
func CheckFree(dir string) error {
	path := filepath.Join(dir, EtcdData, "member", "snap", "db")
	file, err := os.OpenFile(filepath.Clean(path), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("etcd's data: %w", err)
	}
	defer file.Close() // and with it the lock
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		return fmt.Errorf("another process uses etcd's data; `fuser %s` or `lsof %[1]s` tells which: end it with "+
			"`kill PID`, or give another --dir", path)
	default:
		return fmt.Errorf("etcd's data: %w", err)
	}
}
