# Roles and features, local users and their profiles, Defender.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

# Of a name that it does not know it says nothing.
function Get-WindowsFeature {
    [CmdletBinding()] param([string[]]$Name)
    Enter-Stub 'Get-WindowsFeature'
    foreach ($one in $Name) {
        $known = $World.features.Keys | Where-Object { $_ -eq $one }
        if ($known) { [pscustomobject]@{ Name = $known; InstallState = $World.features[$known] } }
    }
}

function Install-WindowsFeature {
    [CmdletBinding()] param([string[]]$Name)
    Enter-Stub 'Install-WindowsFeature'
    $unknown = @($Name | Where-Object { -not $World.features.ContainsKey($_) })
    if ($unknown) {
        $text = "ArgumentNotValid: The role, role service, or feature name is not valid: '$($unknown[0])'. The name was not found."
        Write-StubError $text 'NameDoesNotExist' 'InvalidArgument'
        return [pscustomobject]@{ Success = $false; RestartNeeded = 'No' }
    }
    $current = 'HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows\CurrentVersion'
    if ($World.registry.ContainsKey("$current\Component Based Servicing\RebootPending")) {
        $text = 'The request to add or remove features on the specified server failed. The server must be restarted first.'
        Write-StubError $text 'DISMAPI_Error__Failed_Reboot_Required' 'InvalidOperation'
        return [pscustomobject]@{ Success = $false; RestartNeeded = 'Yes' }
    }
    Add-Effect "feature.install $($Name -join ',')"
    $state, $restart = if ($World['featureReboot']) { 'InstallPending', 'Yes' } else { 'Installed', 'No' }
    if ($World['featureFails']) { $state = 'Available' }
    foreach ($one in $Name) { if ($World.features[$one] -ne 'Installed') { $World.features[$one] = $state } }
    [pscustomobject]@{ Success = -not $World['featureFails']; RestartNeeded = $restart }
}

# Each user has a SID of one's own.
function Get-StubUser([string]$Name) {
    foreach ($one in @($World.users.Keys | Sort-Object)) {
        if (-not $World.sids[$one]) { $World.sids[$one] = "S-1-5-21-1-2-3-$(1001 + $World.sids.Count)" }
    }
    $known = $World.users.Keys | Where-Object { $_ -eq $Name }
    if ($known) { [pscustomobject]@{ Name = $known; SID = $World.sids[$known] } }
}

function Get-LocalUser {
    [CmdletBinding()] param([string]$Name)
    Enter-Stub 'Get-LocalUser'
    $user = Get-StubUser $Name
    if ($user) { return $user }
    Write-StubError "User $Name was not found." 'UserNotFound'
}

function New-LocalUser {
    [CmdletBinding()]
    param([string]$Name, [securestring]$Password, [switch]$PasswordNeverExpires, [switch]$AccountNeverExpires)
    Enter-Stub 'New-LocalUser'
    if (-not $Password) { throw "Cannot process command because of one or more missing mandatory parameters: Password." }
    if ($Name.Length -gt 20 -or $Name -match '["/\\\[\]:;|=,+*?<>@]') { throw "The name $Name is not valid." }
    if (Get-StubUser $Name) { Write-StubError "User $Name already exists." 'UserExists' 'ResourceExists'; return }
    $World.users[$Name] = @()
    Add-Effect "user.add $Name password=$($Password.Length) $PasswordNeverExpires $AccountNeverExpires"
    Get-StubUser $Name
}

function Add-LocalGroupMember {
    [CmdletBinding()] param([string]$SID, [string]$Member)
    Enter-Stub 'Add-LocalGroupMember'
    if ($SID -notmatch '^S-1-5-(32-\d+|21-[\d-]+)$') { Write-StubError "Group $SID was not found." 'GroupNotFound'; return }
    $user = Get-StubUser $Member
    if (-not $user) { Write-StubError "Principal $Member was not found." 'PrincipalNotFound'; return }
    if ($SID -in @($World.users[$user.Name])) {
        Write-StubError "$Member is already a member of group $SID." 'MemberExists' 'ResourceExists'
        return
    }
    $World.users[$user.Name] = @($World.users[$user.Name]) + $SID
    Add-Effect "group.add $SID $Member"
}

# Windows makes the folder; where one of the name is there, that of the profile gets the computer's name behind it.
function Add-UserProfile([string]$Sid, [string]$Name) {
    Enter-Stub 'Add-UserProfile'
    $key = "HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows NT\CurrentVersion\ProfileList\$Sid"
    if ($World.registry.ContainsKey($key)) { return } # 0x800700b7, which is no error of the door
    $folder = "$($World.base)/C/Users/$Name"
    if ([IO.Directory]::Exists($folder)) { $folder = "$folder.$env:COMPUTERNAME" }
    $null = [IO.Directory]::CreateDirectory($folder)
    Add-Effect "profile.add $Name"
    $World.registry[$key] = @{ ProfileImagePath = $folder }
}

# No exclusions are nothing, not an empty list.
function Get-MpPreference {
    [CmdletBinding()] param()
    Enter-Stub 'Get-MpPreference'
    $paths, $processes = foreach ($list in $World.defender.paths, $World.defender.processes) {
        if (@($list).Count) { , [string[]]@($list) } else { , $null }
    }
    [pscustomobject]@{ ExclusionPath = $paths; ExclusionProcess = $processes }
}

function Add-MpPreference {
    [CmdletBinding()] param([string[]]$ExclusionPath, [string[]]$ExclusionProcess)
    Enter-Stub 'Add-MpPreference'
    foreach ($one in $ExclusionPath) { $World.defender.paths = @($World.defender.paths) + $one; Add-Effect "defender.path $one" }
    foreach ($one in $ExclusionProcess) {
        $World.defender.processes = @($World.defender.processes) + $one
        Add-Effect "defender.process $one"
    }
}
