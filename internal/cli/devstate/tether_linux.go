package devstate

import (
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

const tethers = true

// tie has the kernel kill this process when the thread that started it ends. It holds for what the process becomes.
func tie() error {
	runtime.LockOSThread() // the setting is this thread's, which is the one that becomes the program
	return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0)
}
