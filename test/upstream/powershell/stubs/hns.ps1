# The host network service. Its first network on an adapter makes a vSwitch there, and an adapter "vEthernet (NAME)" with the same
# MAC that takes over its addresses; with the last network both go. What DHCP has brought comes again, the rest does not.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

function Stop-Hns([string]$Code) { throw (New-Object InvalidOperationException $Code) }

function Send-HnsCall([string]$Method, [string]$Path, [string]$Body) {
    Enter-Stub 'Send-HnsCall'
    $kind, $id = @($Path.TrimStart('/') -split '/')[0, 1]
    $before = $World.nextId
    try {
        $output = switch ($Method) {
            'GET' { , [object[]]@($World.hns | Where-Object { $_['kind'] -eq $kind } | ForEach-Object { Add-StubPolicies $_ }) }
            'DELETE' { Clear-StubItem $kind $id }
            'POST' { if ($id) { Connect-StubEndpoint $id } else { New-StubItem $kind (ConvertTo-Table ($Body | ConvertFrom-Json)) } }
            default { Stop-Hns '0x80070057' }
        }
    }
    catch [InvalidOperationException] {
        $World.nextId = $before
        Exit-Step "HNS $Method $Path`: $($_.Exception.Message)"
    }
    if ($Method -ne 'GET') { Add-Effect "hns $Method $Path $Body".Trim() }
    $answer = @{ Success = $true }
    if ($output) { $answer.Output = $output }
    ConvertTo-Json $answer -Depth 100 -Compress
}

# HNS shows a network with its policies. They are items of their own here, which may come later.
function Add-StubPolicies($Item) {
    $its = @($World.hns | Where-Object { $_['kind'] -eq 'remotesubnets' -and $_['Network'] -eq $Item['ID'] })
    $its = @($its | Where-Object { -not $_['after'] -or $World.clock -ge $_['after'] })
    if ($Item['kind'] -ne 'networks' -or -not $its) { return $Item }
    $shown = @{} + $Item
    $shown.Policies = @($its | ForEach-Object {
            @{ Type = 'RemoteSubnetRoute'; DestinationPrefix = $_['DestinationPrefix']; ProviderAddress = $_['ProviderAddress'] }
        })
    $shown
}

function New-StubItem([string]$Kind, $Item) {
    if ($Kind -eq 'networks') {
        if (@($World.hns | Where-Object { $_['kind'] -eq $Kind -and $_['Name'] -eq $Item['Name'] }).Count) { Stop-Hns '0x803b0010' }
        Set-StubAdapter $Item
    }
    $World.nextId++
    $Item['ID'] = "id-$($World.nextId)"
    $Item['kind'] = $Kind
    if ($Kind -eq 'endpoints') { $Item['IPAddress'] = "192.0.2.$($World.nextId)" }
    $World.hns = @($World.hns) + $Item
    $Item
}

function Clear-StubItem([string]$Kind, [string]$Id) {
    $gone = @($World.hns | Where-Object { $_['kind'] -eq $Kind -and $_['ID'] -eq $Id })
    if (-not $gone) { Stop-Hns $(switch ($Kind) { 'networks' { '0x803b0001' } 'endpoints' { '0x803b0002' } default { '0x80070490' } }) }
    $World.hns = @($World.hns | Where-Object { $_ -notin $gone })
    Clear-StubSwitch $gone[0]['NetworkAdapterName']
}

# All endpoints that the host is attached to are on one interface.
function Connect-StubEndpoint([string]$Id) {
    $endpoint = $World.hns | Where-Object { $_['kind'] -eq 'endpoints' -and $_['ID'] -eq $Id }
    if (-not $endpoint) { Stop-Hns '0x803b0002' }
    $address = "$($endpoint['IPAddress'])/32"
    if (@($World.addresses | Where-Object { $_['address'] -eq $address }).Count) { Stop-Hns '0x803b0014' }
    $World.addresses = @($World.addresses) + @{ index = 1000; address = $address }
}

function Set-StubAdapter($Network) {
    $Network['ManagementIP'] = $World['managementIP']
    if (-not @($World.adapters).Count -or $Network['Type'] -eq 'nat') { return }
    $adapter = Find-StubAdapter $Network['NetworkAdapterName']
    $Network['NetworkAdapterName'] = $adapter['name']
    $virtual = Find-StubVirtual $adapter['name']
    if (-not $virtual) {
        $virtual = $adapter.Clone()
        $virtual['index'] = 100 + $adapter['index']
        $virtual['name'] = "vEthernet ($($adapter['name']))"
        $virtual['virtual'] = $true
        Clear-StubStatic $adapter $virtual
        $World.adapters = @($World.adapters) + $virtual
        Move-StubAddress $adapter $virtual['index']
    }
    if (-not $World['managementIP']) { return }
    $own = @($World.addresses | Where-Object { $_['index'] -eq $virtual['index'] -and $_['address'] -notlike '*:*' })
    $now = @($own | Where-Object { $_['address'] -notlike '169.254.*' -and (-not $_['after'] -or $World.clock -ge $_['after']) })
    # An adapter that waits for its lease has an address of 169.254/16, and HNS keeps that.
    if ($own) { $Network['ManagementIP'] = if ($now) { ($now[0]['address'] -split '/')[0] } else { "169.254.0.$($virtual['index'])" } }
}

# Before Server 2022 a vEthernet starts with DHCP, whatever its adapter had, unless HNS is told not to.
function Clear-StubStatic($From, $To) {
    if ($World.facts['osBuild'] -ne '17763' -or (Get-FamilyValue $From 'dhcp' 'IPv4' $true)) { return }
    $set = $World.registry['HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\hns\State']
    if ($set -and $set['DeviceLessNicDisabled'] -eq 1) { return }
    $To['dhcpIPv4'] = $true
    $gone = @($World.addresses | Where-Object {
            $_['index'] -eq $From['index'] -and $_['address'] -notlike '*:*' -and $_['origin'] -in $null, 'Manual'
        })
    $made = @{ index = $From['index']; address = "169.254.0.$($To['index'])/16"; origin = 'WellKnown' }
    $World.addresses = @($World.addresses | Where-Object { $_ -notin $gone }) + $made
}

# A vEthernet has its vSwitch already; without a name HNS takes one that is free.
function Find-StubAdapter([string]$Name) {
    $named = @($World.adapters | Where-Object { -not $_['hidden'] -and (-not $Name -or $_['name'] -ceq $Name) })
    if ($Name -and @($named | Where-Object { $_['virtual'] }).Count) { Stop-Hns '0x80070057' }
    $real = @($named | Where-Object { -not $_['virtual'] })
    if (-not $real) { Stop-Hns '0x803b0006' }
    $free = @($real | Where-Object { -not (Find-StubVirtual $_['name']) })
    if ($free) { $free[-1] } else { $real[0] }
}

function Find-StubVirtual([string]$Name) { $World.adapters | Where-Object { $_['virtual'] -and $_['name'] -ceq "vEthernet ($Name)" } }

function Move-StubAddress($From, [int]$To) {
    $index = $From['index']
    foreach ($one in $World.addresses) { if ($one['index'] -eq $index) { $one['index'] = $To } }
    $leased = @($World.routes | Where-Object { $_['index'] -eq $index -and $_['to'] -like '*/0' })
    $World.routes = @($World.routes | Where-Object { $_['index'] -ne $index })
    $servers = (Get-StubServer $index).IPv4 + (Get-StubServer $index).IPv6
    $World.dnsOf["$index"] = @()
    $World.dnsOf["$To"] = @()
    if (-not (Get-FamilyValue $From 'dhcp' 'IPv4' $true)) { return }
    foreach ($route in $leased) { $route['index'] = $To }
    $World.routes = @($World.routes) + $leased
    $World.dnsOf["$To"] = $servers
}

function Clear-StubSwitch([string]$Name) {
    $virtual = if ($Name) { Find-StubVirtual $Name }
    if (-not $virtual -or @($World.hns | Where-Object { $_['NetworkAdapterName'] -ceq $Name }).Count) { return }
    $below = $World.adapters | Where-Object { $_['name'] -ceq $Name -and -not $_['virtual'] }
    Move-StubAddress $virtual $below['index']
    $World.adapters = @($World.adapters | Where-Object { $_['index'] -ne $virtual['index'] })
}
