# Adapters, their interfaces (one for each family) and name servers.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

# Commands made from CIM classes say this where a property was asked for, and nothing has it.
function Write-NoObject([string]$Class, [string]$Property, $Value) {
    $text = "No $Class objects found with property '$Property' equal to '$Value'.  Verify the value of the property and retry."
    Write-StubError $text "CmdletizationQuery_NotFound_$Property"
}

# Worlds without adapters have the interfaces that their routes and addresses name.
function Test-Interface([int]$Index) {
    $named = @($World.routes) + $World.addresses
    if (@($World.adapters).Count) { $named = $World.adapters | Where-Object { -not $_['hidden'] } }
    @($named | Where-Object { $_['index'] -eq $Index }).Count -gt 0
}

function Get-NetAdapter {
    [CmdletBinding()] param([string]$Name, [switch]$IncludeHidden)
    Enter-Stub 'Get-NetAdapter'
    $found = @($World.adapters | Where-Object { $IncludeHidden -or -not $_['hidden'] })
    if ($Name) { $found = @($found | Where-Object { $_['name'] -like $Name }) }
    if ($Name -and -not $found -and -not [WildcardPattern]::ContainsWildcardCharacters($Name)) {
        Write-NoObject 'MSFT_NetAdapter' 'Name' $Name
        return
    }
    foreach ($one in $found) {
        [pscustomobject]@{ ifIndex = [int]$one['index']; MacAddress = $one['mac']; Virtual = [bool]$one['virtual']; Name = $one['name'] }
    }
}

# Also one that is not present keeps its name.
function Rename-NetAdapter {
    [CmdletBinding()] param($InputObject, [string]$NewName)
    Enter-Stub 'Rename-NetAdapter'
    if (-not $NewName) { throw "Cannot bind argument to parameter 'NewName' because it is an empty string." }
    foreach ($one in $World.adapters) {
        if ($one['name'] -ne $NewName -or $one['index'] -eq $InputObject.ifIndex) { continue }
        $text = '{Object Exists} An attempt was made to create an object and the object name already existed.'
        Write-StubError $text 'Windows System Error 5010' 'ResourceExists'
        return
    }
    foreach ($one in $World.adapters) { if ($one['index'] -eq $InputObject.ifIndex) { $one['name'] = $NewName } }
    Add-Effect "adapter.rename $($InputObject.ifIndex) $NewName"
}

# What a family of an interface has: a world says it of the adapter, for both.
function Get-FamilyValue($Adapter, [string]$Part, [string]$Family, $Default) {
    foreach ($name in "$Part$Family", $Part) { if ($null -ne $Adapter[$name]) { return $Adapter[$name] } }
    $Default
}

function Get-NetIPInterface {
    [CmdletBinding()] param([int]$InterfaceIndex, [string]$AddressFamily)
    Enter-Stub 'Get-NetIPInterface'
    if (-not (Test-Interface $InterfaceIndex)) { Write-NoObject 'MSFT_NetIPInterface' 'InterfaceIndex' $InterfaceIndex; return }
    $adapter = $World.adapters | Where-Object { $_['index'] -eq $InterfaceIndex }
    foreach ($family in 'IPv4', 'IPv6') {
        if ($AddressFamily -and $AddressFamily -ne $family) { continue }
        $dhcp = if (Get-FamilyValue $adapter 'dhcp' $family $true) { 'Enabled' } else { 'Disabled' }
        [pscustomobject]@{ AddressFamily = $family; Dhcp = $dhcp; NlMtu = [uint32](Get-FamilyValue $adapter 'mtu' $family 1500) }
    }
}

function Set-NetIPInterface {
    [CmdletBinding()] param([int]$InterfaceIndex, [string]$AddressFamily, [string]$Dhcp, [int]$NlMtuBytes)
    Enter-Stub 'Set-NetIPInterface'
    if (-not (Test-Interface $InterfaceIndex)) { Write-NoObject 'MSFT_NetIPInterface' 'InterfaceIndex' $InterfaceIndex; return }
    $adapter = $World.adapters | Where-Object { $_['index'] -eq $InterfaceIndex }
    if ($Dhcp) {
        $adapter["dhcp$AddressFamily"] = $Dhcp -eq 'Enabled'
        Add-Effect "interface.dhcp $InterfaceIndex $AddressFamily $Dhcp"
    }
    if ($NlMtuBytes) {
        $adapter["mtu$AddressFamily"] = $NlMtuBytes
        Add-Effect "interface.mtu $InterfaceIndex $AddressFamily $NlMtuBytes"
    }
}

# The site-local servers that Windows lists where none is set for IPv6.
$script:SiteLocal = 'fec0:0:0:ffff::1', 'fec0:0:0:ffff::2', 'fec0:0:0:ffff::3'

function Get-StubServer([int]$Index) {
    $all = if ($World.dnsOf.ContainsKey("$Index")) { $World.dnsOf["$Index"] } else { $World.dns }
    @{ IPv4 = [string[]]@($all | Where-Object { $_ -notlike '*:*' }); IPv6 = [string[]]@($all | Where-Object { $_ -like '*:*' }) }
}

# One object for each family.
function Get-DnsClientServerAddress {
    [CmdletBinding()] param([int]$InterfaceIndex)
    Enter-Stub 'Get-DnsClientServerAddress'
    if (-not (Test-Interface $InterfaceIndex)) { Write-NoObject 'MSFT_DNSClientServerAddress' 'InterfaceIndex' $InterfaceIndex; return }
    $have = Get-StubServer $InterfaceIndex
    if (-not $have.IPv6) { $have.IPv6 = $script:SiteLocal }
    foreach ($family in 2, 23) {
        [pscustomobject]@{ AddressFamily = $family; ServerAddresses = [string[]]@($have[$(if ($family -eq 2) { 'IPv4' } else { 'IPv6' })]) }
    }
}

# Servers of one family leave those of the other.
function Set-DnsClientServerAddress {
    [CmdletBinding()] param([int]$InterfaceIndex, [string[]]$ServerAddresses)
    Enter-Stub 'Set-DnsClientServerAddress'
    if (-not (Test-Interface $InterfaceIndex)) { Write-NoObject 'MSFT_DNSClientServerAddress' 'InterfaceIndex' $InterfaceIndex; return }
    if (-not $ServerAddresses) { throw "Cannot bind argument to parameter 'ServerAddresses' because it is an empty array." }
    $have = Get-StubServer $InterfaceIndex
    $four = @($ServerAddresses | Where-Object { $_ -notlike '*:*' })
    $six = @($ServerAddresses | Where-Object { $_ -like '*:*' })
    if (-not $four) { $four = $have.IPv4 }
    if (-not $six) { $six = $have.IPv6 }
    $World.dnsOf["$InterfaceIndex"] = @($four) + @($six)
    Add-Effect "dns.set $InterfaceIndex $($ServerAddresses -join ',')"
}
