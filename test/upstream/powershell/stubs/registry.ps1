# The registry: keys and names in any case. Beside each value stands its type.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

function Assert-BaseKey([string]$Key) {
    if ($Key -notlike 'HKEY_LOCAL_MACHINE\*') {
        throw (New-Object ArgumentException 'Registry key name must start with a valid base key name.')
    }
}

# A list comes as one object. JSON has but one kind of whole number: without a type it is a DWord.
function Read-Registry([string]$Key, [string]$Name, [switch]$Kind) {
    Enter-Stub 'Read-Registry'
    Assert-BaseKey $Key
    if (-not $World.registry.ContainsKey($Key)) { return $null }
    $value = $World.registry[$Key][$Name]
    if ($Kind -and $null -ne $value) { return Get-StubKind $value $World.registry[$Key]["$Name#type"] }
    if ($value -is [array]) { return , [string[]]$value }
    if ($value -is [long] -and $World.registry[$Key]["$Name#type"] -ne 'QWord') { return [int]$value }
    $value
}

function Get-StubKind($Value, [string]$Type) {
    if ($Type) { return $Type }
    if ($Value -is [array]) { return 'MultiString' }
    if ($Value -is [string]) { 'String' } else { 'DWord' }
}

# The doors above do not ask for it.
function Open-RegistryKey([string]$Key) { throw "$Key`: no stand-in of a door asks for it" }

function Write-Registry([string]$Key, [string]$Name, $Value, [string]$Type) {
    Enter-Stub 'Write-Registry'
    Assert-BaseKey $Key
    if ($null -eq $Value) { throw (New-Object ArgumentNullException 'value') }
    $fits = switch ($Type) {
        'DWord' { $Value -is [int] }
        'QWord' { $Value -is [long] -or $Value -is [int] }
        'MultiString' { $Value -is [string[]] -and @($Value | Where-Object { $null -eq $_ }).Count -eq 0 }
        { $_ -in 'String', 'ExpandString' } { $Value -is [string] }
        default { throw (New-Object ArgumentException "The specified RegistryValueKind is an invalid value ($Type).") }
    }
    if (-not $fits) {
        throw (New-Object ArgumentException ('The type of the value object did not match the specified RegistryValueKind or the ' +
                'object could not be properly converted.'))
    }
    if (-not $World.registry.ContainsKey($Key)) { $World.registry[$Key] = @{} }
    $World.registry[$Key][$Name] = $Value
    $World.registry[$Key]["$Name#type"] = $Type
    Add-Effect ('registry.set {0} {1} {2} {3}' -f $Key, $Name, $Type, (@($Value) -join '|')).TrimEnd(' ')
}

# The names of the machine's variables, which a process has from its start. No value of another type is one: docs/plan.md, registry.
function Get-StubVariable {
    $key = $World.registry[$EnvironmentKey]
    foreach ($name in @(if ($key) { $key.PSBase.Keys })) {
        if (-not $name -or $name -like '*#type') { continue }
        if ((Get-StubKind $key[$name] $key["$name#type"]) -in 'String', 'ExpandString') { $name }
    }
}

function Test-RegistryKey([string]$Key) { Enter-Stub 'Test-RegistryKey'; $World.registry.ContainsKey($Key) }

# Keys below go along; nothing is said of a key that is not there.
function Clear-RegistryKey([string]$Key) {
    Enter-Stub 'Clear-RegistryKey'
    Add-Effect "registry.clear $Key"
    foreach ($known in @($World.registry.Keys)) { if ($known -eq $Key -or $known -like "$Key\*") { $World.registry.Remove($known) } }
}

# A volatile key: the next start of the machine has none.
function Write-BootMarker { Enter-Stub 'Write-BootMarker'; $World.marker = 1 }
function Test-BootMarker { $World.marker -eq 1 }
