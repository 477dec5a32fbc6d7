# Files are real and recorded. Owner and access are kept beside them, by path; what has none of its own inherits.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

function ConvertTo-RealPath([string]$Path) {
    if ($Path -notmatch '^([A-Za-z]):\\') { return $Path }
    $World.base + '/' + $Matches[1].ToUpperInvariant() + '/' + $Path.Substring(3).Replace('\', '/')
}

function ConvertTo-WorldPath([string]$Path) {
    if (-not $Path.StartsWith($World.base + '/')) { return $Path }
    $rest = $Path.Substring($World.base.Length + 1)
    if ($rest -match '^[A-Z]/') { $rest.Substring(0, 1) + ':\' + $rest.Substring(2).Replace('/', '\') } else { $Path }
}

# As the scripts do it, but faster.
function Get-Digest([byte[]]$Bytes) {
    [BitConverter]::ToString([Security.Cryptography.SHA256]::HashData($Bytes)).Replace('-', '').ToLowerInvariant()
}

function Test-OwnFile([string]$Path) { $Path.StartsWith($Agent.Root) }
function Test-There([string]$Path) { [IO.File]::Exists($Path) -or [IO.Directory]::Exists($Path) }

if (-not (Test-Path function:Save-RealFile)) {
    Copy-Item -Path function:Save-File -Destination function:Save-RealFile
    Copy-Item -Path function:Add-Folder -Destination function:Save-RealFolder
    Copy-Item -Path function:Clear-Path -Destination function:Clear-RealPath
    Copy-Item -Path function:Move-OverFile -Destination function:Move-RealFile
}

function Save-File([string]$Path, [byte[]]$Bytes, [string]$Sddl) {
    if (Test-OwnFile $Path) { Save-RealFile $Path $Bytes $Sddl; return }
    Enter-Stub 'Save-File'
    Save-RealFile $Path $Bytes $Sddl
    Add-Effect ('file {0} {1} {2}' -f (ConvertTo-WorldPath $Path), (Get-Digest $Bytes).Substring(0, 12), $Bytes.Length)
}

# The access that a file was made with comes along when the file gets its name; one that is replaced keeps its own.
function Move-OverFile([string]$From, [string]$To, [bool]$Anew) {
    $kept = -not $Anew -and [IO.File]::Exists($To)
    Move-RealFile $From $To $Anew
    if (-not $kept) { $World.acl.Remove($To) }
    if (-not $kept -and $World.acl.ContainsKey($From)) { $World.acl[$To] = $World.acl[$From] }
    $World.acl.Remove($From)
}

function Add-Folder([string]$Path, [string]$Sddl) {
    Enter-Stub 'Add-Folder'
    $new = -not [IO.Directory]::Exists($Path)
    if ($new) { Add-Effect "directory $(ConvertTo-WorldPath $Path)" }
    try { Save-RealFolder $Path $Sddl }
    finally { if ($new -and -not [IO.Directory]::Exists($Path)) { $World.effects = @($World.effects | Select-Object -SkipLast 1) } }
}

function Clear-Path([string]$Path) {
    Enter-Stub 'Clear-Path'
    if (Test-There $Path) { Add-Effect "remove $(ConvertTo-WorldPath $Path)" }
    Clear-RealPath $Path
    foreach ($known in @($World.acl.Keys)) { if ($known -eq $Path -or $known.StartsWith("$Path/")) { $World.acl.Remove($known) } }
}

function New-OwnFile([string]$Path, [string]$Sddl) {
    $final = $Path -replace '\.[0-9a-f]{32}\.capwin-new$', ''
    $told = $Sddl -and -not (Test-OwnFile $final)
    if ($told) {
        Enter-Stub 'New-OwnFile'
        Add-Effect "acl $(ConvertTo-WorldPath $final) $Sddl"
    }
    $stream = New-Object IO.FileStream($Path, [IO.FileMode]::CreateNew, [IO.FileAccess]::Write, [IO.FileShare]::None)
    if ($told) { $World.acl[$Path] = $Sddl }
    $stream
}

function New-OwnFolder([string]$Path, [string]$Sddl) {
    if (Test-There $Path) {
        throw (New-Object IO.IOException "Cannot create '$Path' because a file or directory with the same name already exists.")
    }
    $null = [IO.Directory]::CreateDirectory($Path)
    if (-not $Sddl -or (Test-OwnFile $Path)) { return }
    $World.acl[$Path] = $Sddl
    Add-Effect "acl $(ConvertTo-WorldPath $Path) $Sddl"
}

function Get-Acl {
    [CmdletBinding()] param([string]$LiteralPath)
    Enter-Stub 'Get-Acl'
    if (-not (Test-There $LiteralPath)) {
        Write-StubError "Cannot find path '$LiteralPath' because it does not exist." 'GetAcl_PathNotFound_Exception'
        return
    }
    $sddl = if ($World.acl.ContainsKey($LiteralPath)) { $World.acl[$LiteralPath] } else { 'O:BAD:AI' }
    $acl = [pscustomobject]@{ Sddl = $sddl }
    $acl | Add-Member -MemberType ScriptMethod -Name GetSecurityDescriptorSddlForm -Value { $this.Sddl }
    $acl | Add-Member -MemberType ScriptMethod -Name SetSecurityDescriptorSddlForm -Value { param($Text) $this.Sddl = $Text } -PassThru
}

function Set-Acl {
    [CmdletBinding()] param([string]$LiteralPath, $AclObject)
    Enter-Stub 'Set-Acl'
    if (-not (Test-There $LiteralPath)) {
        Write-StubError "Cannot find path '$LiteralPath' because it does not exist." 'ItemNotFound'
        return
    }
    $World.acl[$LiteralPath] = $AclObject.Sddl
    if (-not (Test-OwnFile $LiteralPath)) { Add-Effect "acl $(ConvertTo-WorldPath $LiteralPath) $($AclObject.Sddl)" }
}
