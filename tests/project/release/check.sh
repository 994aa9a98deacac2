#!/usr/bin/env bash
# Makes releases of a repository that has the files of this tree: the same bytes each time, with
# checksums, and signed by a key made for it; and shows its refusals, with nothing half-made.
#
# Usage: check.sh SOURCE_DIR SCRATCH_DIR
set -euo pipefail

source_dir=$1
scratch=$2
said=

if ! command -v git >/dev/null; then
    echo "skipped: git is not there, and a release is made from a commit"
    exit 77
fi

fail()
{
    printf 'FAILED: %s\n%s\n' "$*" "$said" >&2
    exit 1
}

# release STATUS ARGUMENT...: of the repository here.
release()
{
    local expected=$1 status=0
    shift
    said=$(scripts/release.sh --archives "$@" 2>&1) || status=$?
    ((status == expected)) || fail "status $status, not $expected, of: $*"
}

says()
{
    [[ $said == *"$1"* ]] || fail "it does not say «$1»:"
}

# refuses TEXT ARGUMENT...: nothing is made.
refuses()
{
    local text=$1
    shift
    release 1 --output "$scratch/refused" "$@"
    says "$text"
    [[ ! -e $scratch/refused && ! -e build/release-work ]] || fail "it leaves something behind: $*"
}

commit()
{
    git add --all
    git commit --quiet --message "$1"
}

rm -rf "$scratch"
mkdir -p "$scratch/first"
# Nothing from the settings of the user of this machine.
export HOME=$scratch GIT_CONFIG_NOSYSTEM=1 GIT_CEILING_DIRECTORIES=$scratch
export GIT_AUTHOR_NAME=author GIT_AUTHOR_EMAIL=author@elapse.invalid
export GIT_COMMITTER_NAME=author GIT_COMMITTER_EMAIL=author@elapse.invalid
tar -C "$source_dir" --exclude=./build --exclude=./.git -c . | tar -C "$scratch/first" -x
cd "$scratch/first"
version=$(sed -n 's/.*ELAPSE_VERSION_TEXT *"\(.*\)"/\1/p' include/elapse/version.h)

# A section of this version and of an older one in the changelog, and a recorded ABI.
[[ -d abi/$version ]] || mkdir -p "abi/$version"
grep -q "^## \[$version\]" CHANGELOG.md ||
    sed -i "0,/^## \[[0-9]/ s//## [$version] - 2020-02-02\n\n- Planted.\n\n&/" CHANGELOG.md
printf '\n## [0.0.1] - 2020-01-01\n\nIt was older.\n' >>CHANGELOG.md
touch "abi/$version/planted"
git init --quiet
commit 'All of it'

# Twice, from two clones, with other settings: the same files, and the same bytes.
release 0 --output "$scratch/made"
says 'not signed'
says 'No tag was made'
[[ -z $(git tag) ]] || fail 'there is a tag'
git clone --quiet "$scratch/first" "$scratch/second"
cd "$scratch/second"
git config tar.umask user
(
    umask 077
    export TZ=Asia/Tokyo LC_ALL=C TAR_OPTIONS=--sort=none
    release 0
)
diff -r "$scratch/made" "build/release-$version" || fail 'a second release differs'
release 0 # where the first one was
diff -r "$scratch/made" "build/release-$version" || fail 'a third release differs'

# What there is.
cd "$scratch/made"
listed=$(printf '%s ' *)
name=elapse-$version
[[ $listed == "SHA256SUMS $name-notes.md $name-two-files.tar.gz $name.tar.gz " ]] || fail "made: $listed"
sha256sum --check --strict --quiet SHA256SUMS || fail 'the checksums are wrong'
[[ $(wc -l <SHA256SUMS) == 3 ]] || fail 'a file has no checksum'
mkdir "$scratch/unpacked"
tar -C "$scratch/unpacked" -xzf "$name.tar.gz"
diff -r --exclude=.git --exclude=build "$scratch/first" "$scratch/unpacked/$name" || fail 'the sources differ'
[[ $(stat -c %Y "$scratch/unpacked/$name/dev") == $(git -C "$scratch/first" log -1 --format=%ct) ]] ||
    fail 'the time is not that of the commit'
said=$(tar --numeric-owner -tvzf "$name.tar.gz" | grep -vE '^[d-]rw[x-]r-[x-]r-[x-] 0/0 ') &&
    fail 'other owners or rights:'
[[ -s $name-notes.md ]] || fail 'there are no notes'
! grep -nE '^## \[|It was older' "$name-notes.md" || fail 'the notes have other versions'

# Refusals.
cd "$scratch/second"
release 2 --unknown
release 2 --output
release 1 --output "$scratch/made"
says 'is there already'
echo >>README.md
refuses ' M README.md'
git checkout --quiet README.md
touch planted
refuses '?? planted'
rm planted
git tag "v$version"
release 0 # the tag is that of this commit
git commit --quiet --allow-empty --message 'One more'
refuses 'is the tag of another commit'
git tag --delete "v$version" >/dev/null
git rm --quiet -r "abi/$version"
commit 'No ABI'
refuses "the ABI of $version is not recorded"
git reset --quiet --hard HEAD~1
sed -i "/^## \[$version\]/d" CHANGELOG.md
commit 'No notes'
refuses "there is no section [$version]"
git reset --quiet --hard HEAD~1
sed -i 's/^project(elapse VERSION [0-9.]*/project(elapse VERSION 99.0.0/' CMakeLists.txt
commit 'Two versions'
refuses 'the files disagree about the version'
git reset --quiet --hard HEAD~1

if ! command -v gpg >/dev/null || ! command -v gpg-agent >/dev/null; then
    echo "OK, but nothing was signed: gpg or gpg-agent is not there"
    exit
fi
GNUPGHOME=$(mktemp -d) # a short name: sockets are in it
export GNUPGHOME
trap 'gpgconf --kill all; rm -rf "$GNUPGHOME"' EXIT
refuses 'gpg cannot sign with the key nobody@elapse.invalid' --sign nobody@elapse.invalid
for who in releaser other; do
    gpg --batch --quiet --passphrase '' --quick-generate-key "$who@elapse.invalid" ed25519 sign never 2>"$scratch/gpg.log" ||
        fail "there is no key to sign with: $(cat "$scratch/gpg.log")"
done
release 0 --sign releaser@elapse.invalid --output "$scratch/signed"
says 'Signed: SHA256SUMS.asc'
[[ $said != *'not signed'* ]] || fail 'it says that it is not signed'
fingerprint=$(gpg --with-colons --list-secret-keys releaser@elapse.invalid | sed -n 's/^fpr:*\([0-9A-F]*\):.*/\1/p')
said=$(gpg --status-fd 1 --verify "$scratch/signed"/SHA256SUMS{.asc,} 2>&1) || fail 'the signature is wrong:'
says "VALIDSIG $fingerprint"
(cd "$scratch/signed" && sha256sum --check --strict --quiet SHA256SUMS) || fail 'the checksums are wrong'
echo "OK: two releases have the same bytes, one is signed."
