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

function Test-OwnFile([string]$Path) { $Path.StartsWith($Agent.Root) }
function Test-There([string]$Path) { [IO.File]::Exists($Path) -or [IO.Directory]::Exists($Path) }

if (-not (Test-Path function:Save-RealFile)) {
    Copy-Item -Path function:Save-File -Destination function:Save-RealFile
    Copy-Item -Path function:Add-Folder -Destination function:Save-RealFolder
    Copy-Item -Path function:Clear-Path -Destination function:Clear-RealPath
}

# Another program holds the file so often, without sharing it: neither can it be replaced nor removed.
function Assert-NotHeld([string]$Path) {
    $held = if ($World['held']) { $World['held'] } else { @{} }
    $name = ConvertTo-WorldPath $Path
    if ([int]$held[$name] -le 0) { return }
    $held[$name]--
    throw (New-Object IO.IOException "The process cannot access the file '$name' because it is being used by another process.")
}

function Save-File([string]$Path, [byte[]]$Bytes, [string]$Sddl) {
    if (Test-OwnFile $Path) { Save-RealFile $Path $Bytes $Sddl; return }
    Enter-Stub 'Save-File'
    Assert-NotHeld $Path
    Save-RealFile $Path $Bytes $Sddl
    Move-Access $Path
    Add-Effect ('file {0} {1} {2}' -f (ConvertTo-WorldPath $Path), (Get-Digest $Bytes).Substring(0, 12), $Bytes.Length)
}

# The access that a file was made with comes along when the file gets its name; without one it is that of the folder.
function Move-Access([string]$Path) {
    $World.acl.Remove($Path)
    foreach ($made in @($World.acl.Keys | Where-Object { $_.StartsWith("$Path.") -and $_ -like '*.capwin-new' })) {
        if (-not [IO.File]::Exists($made)) { $World.acl[$Path] = $World.acl[$made] }
        $World.acl.Remove($made)
    }
}

function Add-Folder([string]$Path, [string]$Sddl) {
    Enter-Stub 'Add-Folder'
    if (-not [IO.Directory]::Exists($Path)) { Add-Effect "directory $(ConvertTo-WorldPath $Path)" }
    Save-RealFolder $Path $Sddl
}

function Clear-Path([string]$Path) {
    Enter-Stub 'Clear-Path'
    Assert-NotHeld $Path
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
