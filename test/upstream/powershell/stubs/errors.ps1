# How commands of Windows fail.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

# An error record: the -ErrorAction of the command that is played decides what comes of it.
function Write-StubError([string]$Message, [string]$Id, [string]$Category = 'ObjectNotFound') {
    Write-Error -Message $Message -ErrorId $Id -Category $Category
}
