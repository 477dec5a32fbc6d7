# Addresses and routes. What removes one asks before, and nobody can answer a session without a person.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

function Write-NoMatch([string]$Class, [string]$Query) {
    $text = "No matching $Class objects found by CIM query for instances of the ROOT/StandardCimv2/$Class class on the  CIM server: " +
    "SELECT * FROM $Class  WHERE $Query. Verify query parameters and retry."
    Write-StubError $text 'CmdletizationQuery_NotFound'
}

function Write-NoAddress([int]$Index, [string]$Text) {
    Write-NoMatch 'MSFT_NetIPAddress' "((InterfaceIndex = $Index)) AND ((IPAddress LIKE '$Text'))"
}

function Assert-Interface([int]$Index) {
    if (Test-Interface $Index) { return $true }
    Write-StubError 'Element not found.' 'Windows System Error 1168'
    $false
}

function Test-StubAddress($One, [int]$Index, [string]$Family, [string]$Text) {
    $have = ($One['address'] -split '/')[0]
    if ($Text -and $have -ne $Text) { return $false }
    if ($Index -and $One['index'] -ne $Index) { return $false }
    -not $Family -or ($have -like '*:*') -eq ($Family -eq 'IPv6')
}

function Get-NetIPAddress {
    [CmdletBinding()] param([int]$InterfaceIndex, [string]$AddressFamily, [string]$IPAddress)
    Enter-Stub 'Get-NetIPAddress'
    # An address that is asked for and empty is none's.
    $none = $PSBoundParameters.ContainsKey('IPAddress') -and -not $IPAddress
    $found = @($World.addresses | Where-Object { -not $none -and (Test-StubAddress $_ $InterfaceIndex $AddressFamily $IPAddress) })
    if (-not $found) { Write-NoAddress $InterfaceIndex $IPAddress; return }
    foreach ($one in $found) {
        $text, $prefix = $one['address'] -split '/'
        $state = if ($one['after'] -and $World.clock -lt $one['after']) { 'Tentative' } else { 'Preferred' }
        $origin = if ($one['origin']) { $one['origin'] } else { 'Manual' }
        [pscustomobject]@{
            IPAddress = $text; PrefixLength = [byte]$prefix; AddressState = $state; PrefixOrigin = $origin; InterfaceIndex = $one['index']
            InterfaceAlias = [string]@($World.adapters | Where-Object { $_['index'] -eq $one['index'] } | ForEach-Object { $_['name'] })[0]
        }
    }
}

function New-NetIPAddress {
    [CmdletBinding()] param([int]$InterfaceIndex, [string]$IPAddress, [byte]$PrefixLength)
    Enter-Stub 'New-NetIPAddress'
    if (-not (Assert-Interface $InterfaceIndex)) { return }
    # Of the same interface: learn.microsoft.com/windows/win32/api/netioapi/nf-netioapi-createunicastipaddressentry.
    if (@($World.addresses | Where-Object { Test-StubAddress $_ $InterfaceIndex '' $IPAddress }).Count) {
        Write-StubError 'Instance MSFT_NetIPAddress already exists' 'Windows System Error 87' 'InvalidArgument'
        return
    }
    $World.addresses = @($World.addresses) + @{ index = $InterfaceIndex; address = "$IPAddress/$PrefixLength" }
    Add-Effect "address.add $InterfaceIndex $IPAddress/$PrefixLength"
    [pscustomobject]@{ IPAddress = $IPAddress; PolicyStore = 'ActiveStore' }
    [pscustomobject]@{ IPAddress = $IPAddress; PolicyStore = 'PersistentStore' }
}

function Remove-NetIPAddress {
    [CmdletBinding(SupportsShouldProcess, ConfirmImpact = 'High')] param([int]$InterfaceIndex, [string]$IPAddress)
    $gone = @($World.addresses | Where-Object { Test-StubAddress $_ $InterfaceIndex '' $IPAddress })
    try { Enter-Stub 'Remove-NetIPAddress' }
    catch {
        # A lease that cannot be removed has gone by itself.
        $World.addresses = @($World.addresses | Where-Object { $_ -notin $gone -or $_['origin'] -ne 'Dhcp' })
        throw
    }
    if (-not $gone) { Write-NoAddress $InterfaceIndex $IPAddress; return }
    if (-not $PSCmdlet.ShouldProcess($IPAddress)) { return }
    $World.addresses = @($World.addresses | Where-Object { $_ -notin $gone })
    Add-Effect "address.remove $InterfaceIndex $IPAddress"
}

function Test-StubRoute($One, [int]$Index, [string]$To, [string]$Via) {
    if ($To -and $One['to'] -ne $To) { return $false }
    if ($Index -and $One['index'] -ne $Index) { return $false }
    -not $Via -or $One['via'] -eq $Via
}

function Get-NetRoute {
    [CmdletBinding()] param([int]$InterfaceIndex, [string]$DestinationPrefix)
    Enter-Stub 'Get-NetRoute'
    $asked = $PSBoundParameters.ContainsKey('DestinationPrefix')
    $found = @($World.routes | Where-Object { Test-StubRoute $_ $InterfaceIndex $DestinationPrefix '' })
    if ($asked -and -not $DestinationPrefix) { $found = @() }
    if (-not $found -and $asked) { Write-NoObject 'MSFT_NetRoute' 'DestinationPrefix' $DestinationPrefix; return }
    foreach ($one in $found) {
        [pscustomobject]@{
            ifIndex = [int]$one['index']; NextHop = $one['via']; RouteMetric = [int]$one['metric']; InterfaceMetric = 10
            DestinationPrefix = $one['to']
        }
    }
}

# A network without bits behind its length. .NET takes a number alone for an address.
function Test-StubPrefix([string]$Text) {
    $network = [Net.IPNetwork]::new([Net.IPAddress]::Any, 0)
    $Text -match '^(\d+\.\d+\.\d+\.\d+|[0-9a-f.]*:[0-9a-f:.]*)/' -and [Net.IPNetwork]::TryParse($Text, [ref]$network)
}

function New-NetRoute {
    [CmdletBinding()] param([int]$InterfaceIndex, [string]$DestinationPrefix, [string]$NextHop)
    Enter-Stub 'New-NetRoute'
    if (-not (Assert-Interface $InterfaceIndex)) { return }
    if (-not (Test-StubPrefix $DestinationPrefix)) {
        Write-StubError "Invalid parameter DestinationPrefix $DestinationPrefix." 'Windows System Error 87' 'InvalidArgument'
        return
    }
    if (@($World.routes | Where-Object { Test-StubRoute $_ $InterfaceIndex $DestinationPrefix $NextHop }).Count) {
        Write-StubError 'Instance MSFT_NetRoute already exists' 'Windows System Error 87' 'InvalidArgument'
        return
    }
    $World.routes = @($World.routes) + @{ index = $InterfaceIndex; to = $DestinationPrefix; via = $NextHop; metric = 256 }
    Add-Effect "route.add $InterfaceIndex $DestinationPrefix $NextHop"
    [pscustomobject]@{ DestinationPrefix = $DestinationPrefix; PolicyStore = 'ActiveStore' }
    [pscustomobject]@{ DestinationPrefix = $DestinationPrefix; PolicyStore = 'PersistentStore' }
}

function Remove-NetRoute {
    [CmdletBinding(SupportsShouldProcess, ConfirmImpact = 'High')]
    param([int]$InterfaceIndex, [string]$DestinationPrefix, [string]$NextHop)
    Enter-Stub 'Remove-NetRoute'
    $gone = @($World.routes | Where-Object { Test-StubRoute $_ $InterfaceIndex $DestinationPrefix $NextHop })
    if (-not $gone) { Write-NoObject 'MSFT_NetRoute' 'DestinationPrefix' $DestinationPrefix; return }
    if (-not $PSCmdlet.ShouldProcess($DestinationPrefix)) { return }
    $World.routes = @($World.routes | Where-Object { $_ -notin $gone })
    Add-Effect "route.remove $InterfaceIndex $DestinationPrefix $NextHop"
}
