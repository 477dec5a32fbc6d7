# How the programs here are built: in a copy of a module's sources, with the libraries that this version names itself. Nothing of
# them is written anew. The files for Windows take the place of those for other systems where a program is to run here.
standins=$PWD/testdata
work=$(mktemp -d)
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT

copy() { # MODULE@VERSION [folder...], to $to
	local from module=$1
	shift
	from=$(cd / && go mod download -json "$module" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
	to=$work/copy
	mkdir "$to"
	cp "$from"/go.mod "$from"/go.sum "$to"
	[ $# -gt 0 ] || set -- .
	(cd "$from" && cp -r "$@" "$to")
	chmod -R u+w "$to"
}

own_libraries() { # version of Kubernetes, a copy of which is at $to
	# The libraries of Kubernetes 1.x are of version 0.x.
	sed -i "s|=> \./staging/src/\(k8s.io/.*\)|=> \1 v0${1#v1}|" "$to/go.mod"
	# Some versions of these never came to the module proxy, and no program has a use for them.
	for other in sample-apiserver sample-cli-plugin sample-controller; do
		(cd "$to" && go mod edit -droprequire="k8s.io/$other" -dropreplace="k8s.io/$other")
	done
}

build() { # out, package [flags...]
	local out=$1 package=$2
	shift 2
	mkdir -p "$(dirname "$out")"
	GOFLAGS='' CGO_ENABLED=0 nice -n 10 go build -mod=mod -trimpath "$@" -o "$out" "$package"
}

# Has the folder's files for Windows built here, in place of those for other systems.
windows_only() { # folder [file that must go...]
	local folder=$1 file
	shift
	for file in "$folder"/*_test.go "$folder"/*_{linux,other,others,unix}.go "$@"; do
		rm -f "$file"
	done
	for file in $(grep -lE '^//go:build .*!windows' "$folder"/*.go || true); do
		rm -f "$file"
	done
	for file in "$folder"/*.go; do
		sed -i '/^\/\/go:build /d; /^\/\/ +build /d' "$file"
		[[ $file != *_windows.go ]] || mv "$file" "${file%_windows.go}_exe.go"
	done
}

stand_in() { # folder of testdata: a module of the same name as that which it stands for
	go mod edit -replace="$(sed -n 's/^module //p' "$standins/$1/go.mod")=$standins/$1"
}
