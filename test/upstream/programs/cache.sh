# Where the programs are that scripts here have built: each in a folder of the user's cache, whose name follows from the scripts and
# files that it is made of.
programs=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

folders=() # of what was asked for

make_once() { # script, name, version
	local how folder
	how=$(cd "$programs" && cat copy.sh "$1" $(find testdata -type f | sort) | cksum | cut -d' ' -f1)
	folder=${XDG_CACHE_HOME:-$HOME/.cache}/capwin/programs/$how/$2-$3
	folders+=("$folder")
	[ -d "$folder" ] && return
	rm -rf "$folder.part"
	"$programs/$1" "$folder.part" "$3" || return
	mv "$folder.part" "$folder"
}
