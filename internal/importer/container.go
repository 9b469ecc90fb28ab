package importer

import (
	"errors"
	"slices"

	"github.com/mooring-dev/mooring/internal/importer/credential"
)

// Flags of `docker run` that have a value, with one letter and in full, and those that have none.
var (
	valueFlags = words("-a --attach --add-host --annotation -c --cpu-shares --cap-add --cap-drop --cgroupns --cidfile " +
		"--cpus --cpuset-cpus --device --dns --entrypoint -e --env --env-file --expose --gpus --group-add --health-cmd " +
		"-h --hostname --ip --ipc -l --label --label-file --link --log-driver --log-opt -m --memory --memory-swap --mount " +
		"--name --network --net --network-alias --pid --pids-limit --platform -p --publish --pull --restart --runtime " +
		"--security-opt --shm-size --stop-signal --stop-timeout --sysctl --tmpfs --ulimit -u --user --userns --uts " +
		"-v --volume --volumes-from -w --workdir")
	bareFlags = words("-i --interactive -t --tty -it -ti --rm --init --privileged -d --detach --read-only -P " +
		"--publish-all -q --quiet --sig-proxy --no-healthcheck")
	// quietFlags have no meaning for a pod.
	quietFlags = words("-i --interactive -t --tty -it -ti --rm --init -q --quiet --sig-proxy --name --pull --restart " +
		"--no-healthcheck -a --attach --platform --log-driver --log-opt")
)

// containerRun is what follows `docker run`, under translation.
type containerRun struct {
	*process
	// given is the environment of docker itself; the container gets what it is told to.
	given      []pair
	entrypoint string
}

// container translates what follows `docker run`: the image, its environment and its arguments.
func (p *process) container(words []template) error {
	r := &containerRun{process: p, given: p.environment}
	p.environment = nil
	at, err := r.flags(words)
	if err != nil {
		return err
	}
	for _, v := range r.given {
		if !slices.ContainsFunc(p.environment, func(passed pair) bool { return passed.name == v.name }) {
			p.say("env %s is left out: the container does not get it", credential.Show(v.name))
		}
	}
	p.shift += at + 2
	return r.image(words[at], words[at+1:])
}

// flags translates the flags, and returns where the image is.
func (r *containerRun) flags(words []template) (image int, err error) {
	for i := 0; i < len(words); i++ {
		name, content, attached := runFlag(words[i])
		if name == "" {
			return i, nil
		}
		if !attached && valueFlags[name] && i+1 < len(words) {
			i++
			content = words[i]
		}
		if err := r.flag(name, content); err != nil {
			return 0, err
		}
	}
	return 0, errors.New("its container has no image")
}

func (r *containerRun) flag(name string, content template) error {
	switch {
	case name == "-e", name == "--env":
		r.passes(content)
	case name == "--entrypoint":
		r.entrypoint, _ = content.literal()
	case !valueFlags[name] && !bareFlags[name]:
		return errors.New("its container has a flag that is not known, so its image cannot be told")
	case !quietFlags[name]:
		r.say("%s of the container is not carried over", name)
	}
	return nil
}

// runFlag takes a word apart that is a flag: --flag=value, -fvalue or alone. Another word has no name.
func runFlag(word template) (name string, content template, attached bool) {
	if len(word) == 0 || word[0].ref != nil || len(word[0].plain) < 2 || word[0].plain[0] != '-' {
		return "", nil, false
	}
	before, after, found := word.cut("=")
	if name = word[0].plain[:2]; name != "--" && valueFlags[name] && before[0].plain != name {
		_, after, _ = word.cut(name)
		return name, after, true
	}
	if name, literal := before.literal(); literal {
		return name, after, found
	}
	return word[0].plain, nil, true // not known, as there is none of this name
}

// passes carries over a variable of the container: NAME=value, or NAME alone with the value that docker itself has.
func (r *containerRun) passes(content template) {
	before, after, found := content.cut("=")
	name, ok := before.literal()
	switch at := slices.IndexFunc(r.given, func(v pair) bool { return v.name == name }); {
	case !ok:
		r.say("a variable of the container is left out: its name has %s", before.references())
	case found:
		r.environment = append(r.environment, pair{name: name, value: after})
	case at >= 0:
		r.environment = append(r.environment, r.given[at])
	default:
		r.environment = append(r.environment, pair{name: name, value: scope{}.environment(name)})
	}
}

// image translates the image and the words behind it, which its entrypoint gets.
func (r *containerRun) image(word template, arguments []template) error {
	image, _ := r.settle(word).literal()
	if !imageForm.MatchString(image) || len(image) > mostImage || credential.Random(image) {
		return errors.New("the image of its container cannot be told")
	}
	r.spec.Stdio.Image = image
	r.spec.Stdio.Command = []string{r.entrypoint}
	if r.entrypoint == "" || !credential.Harmless(r.entrypoint) {
		r.marks++
		r.spec.Stdio.Command = []string{mark}
		r.say("fill in spec.stdio.command, the entrypoint of image %s, and take spec.disabled away", credential.Show(image))
	}
	r.arguments(arguments)
	return nil
}
