// Package cloudbaseinit holds our user data against the real cloudbase-init, in the versions of install_test.go: what it
// takes our user data for, what it runs, what it logs. It holds the lab's own cloudbase-init against the real one as well.
//
// The tests have a build tag, because they install Python packages from PyPI into the user's cache: make
// test-cloudbase-init runs them. They need python3 with venv, on Linux. driver.py says what is replaced of Windows.
package cloudbaseinit
