package devstate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// graceOfKilled is how long a process may still hold its files that is gone from the list of processes.
const graceOfKilled = 2 * time.Second

// CheckFree refuses a directory whose etcd data is held by something that is no leftover of ours: etcd would wait for
// it without a word.
func CheckFree(ctx context.Context, dir string) error {
	path := filepath.Join(dir, EtcdData, "member", "snap", "db")
	file, err := os.OpenFile(filepath.Clean(path), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("etcd's data: %w", err)
	}
	defer file.Close() // and with it the lock
	err = wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, graceOfKilled, true, func(context.Context) (bool, error) {
		switch err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		default:
			return err == nil, err
		}
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case wait.Interrupted(err):
		return fmt.Errorf("another process uses etcd's data; `fuser %s` or `lsof %[1]s` tells which: end it with "+
			"`kill PID`, or give another --dir", path)
	default:
		return fmt.Errorf("etcd's data: %w", err)
	}
}
