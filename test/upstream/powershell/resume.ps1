# A plan whose run is cut short at any point. A process that is ended by force leaves its files and the machine as they are at that
# moment: a copy of both, taken at the point, is what the next start finds.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot/world.ps1"

function New-ResumeVector {
    $secret = [Convert]::ToBase64String([Text.Encoding]::UTF8.GetBytes('token: abcdef.0123456789abcdef'))
    $services = 'HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services'
    $world = @{
        files = @{ 'C:\AzureData\CustomData.bin' = 'x'; 'C:\x\old.json' = 'y' }
        services = @{ kubelet = @{ state = 'Stopped' } }; registry = @{ "$services\kubelet" = @{ ImagePath = 'C:\k\nssm.exe'; Start = 2 } }
        features = @{ Containers = 'Available' }; featureReboot = $true; tls = @{ 'api:6443' = 4 }
        commands = @(
            @{ argv = @('kubeadm.exe', 'join'); out = 'joined'; writes = @{ 'C:\etc\kubernetes\kubelet.conf' = 'k' } }
            @{ argv = @('kubeadm.exe', 'version'); out = 'v1.36.3' }, @{ argv = @('kubeadm.exe', 'reset') }
        )
    }
    $plan = @{
        version = 1; machine = @{ uid = 'u'; name = 'm'; node = 'n'; namespace = 'ns'; cluster = 'c' }
        redact = @(); report = @(); erase = @('C:\AzureData\*')
        phases = @(
            @{ name = 'prepare'; steps = New-PrepareStep $secret }, @{ name = 'join'; steps = New-JoinStep }
            @{ name = 'end'; steps = @(@{ do = 'remove'; name = 'rm'; paths = @('C:\k\join.yaml'); patterns = @('C:\x\*.json') }) }
        )
    }
    @{ world = $world; plan = $plan }
}

function New-PrepareStep([string]$Secret) {
    $variables = 'HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\Session Manager\Environment'
    @{ do = 'directory'; name = 'd'; path = 'C:\var\lib\kubelet'; access = 'admin' }
    @{ do = 'file'; name = 'f'; path = 'C:\k\join.yaml'; content = $Secret; access = 'admin' }
    @{ do = 'registry'; name = 'r'; key = 'HKEY_LOCAL_MACHINE\SOFTWARE\a'; valueName = 'v'; value = '1' }
    @{ do = 'registry'; name = 'e'; key = $variables; valueName = 'HTTP_PROXY'; value = 'http://p' }
    @{ do = 'feature'; name = 'ft'; features = @('Containers') }
    @{ do = 'registry'; name = 'pf'; key = 'HKEY_LOCAL_MACHINE\SOFTWARE\a'; valueName = 'pages'; value = '8192' }
    @{ do = 'reboot'; name = 'rb'; if = 'always' }
}

function New-JoinStep {
    $version = @('kubeadm.exe', 'version')
    @{ do = 'waitFor'; name = 'api'; for = 'https'; host = 'api'; port = 6443; say = 'the API server does not answer' }
    @{ do = 'fact'; name = 'v'; argv = $version; match = 'v([\d.]+)'; set = 'kubeadm'; say = 'kubeadm does not tell its version' }
    @{ do = 'check'; name = 'c'; fact = 'kubeadm'; atLeast = '1.36'; say = 'kubeadm is too old' }
    @{ do = 'service'; name = 's'; service = 'kubelet'; command = @('C:\k\kubelet.exe', '--windows-service') }
    @{
        do = 'run'; name = 'join'; argv = @('kubeadm.exe', 'join'); creates = 'C:\etc\kubernetes\kubelet.conf'
        undo = @('kubeadm.exe', 'reset', '-f')
    }
    @{ do = 'serviceState'; name = 'ss'; service = 'kubelet'; state = 'running' }
}

# A machine that has finished its bootstrap; the stale networks come back at every start.
function New-BootVector {
    $vector = New-ResumeVector
    $vector.world.stale = @(
        @{ kind = 'networks'; ID = '7'; Name = 'Calico'; Type = 'Overlay' }
        @{ kind = 'networks'; ID = '8'; Name = 'cbr0'; Type = 'L2Bridge' }
    )
    $vector.world.commands = @($vector.world.commands) + @{ argv = @('fix.exe') }
    $vector.plan.phases = @(@{ name = 'main'; steps = @(@{ do = 'file'; name = 'f'; path = 'C:\k\join.yaml'; content = 'c2VjcmV0' }) })
    $always = @(
        @{ do = 'hnsCleanup'; name = 'clean'; networks = @('*') }
        @{ do = 'registry'; name = 'r'; key = 'HKEY_LOCAL_MACHINE\SOFTWARE\a'; valueName = 'v'; value = '1' }
    )
    $node = @(
        @{ do = 'file'; name = 'f'; path = 'C:\k\net.conf'; content = 'YWJj' }
        @{ do = 'serviceState'; name = 'ss'; service = 'kubelet'; state = 'running' }
        @{ do = 'run'; name = 'fix'; argv = @('fix.exe') }
    )
    $vector.plan.everyBoot = @(@{ name = 'network'; steps = $always }, @{ name = 'node'; steps = $node })
    $vector
}

function Get-Root([string]$Base) { "$Base/C/ProgramData/capwin" }
function Get-Sentinel([string]$Base) { "$Base/C/run/cluster-api/bootstrap-success.complete" }
function Read-State([string]$Base) { Read-Table "$(Get-Root $Base)/state.json" }
function Invoke-Start($World, [string]$Base, [scriptblock]$More) { Invoke-WorldOnce $World (Get-Root $Base) (Get-Sentinel $Base) $More }

function Copy-World($Node) {
    if ($Node -is [Collections.IDictionary]) {
        $copy = @{}
        foreach ($key in @($Node.PSBase.Keys)) { $copy[$key] = Copy-World $Node[$key] }
        return $copy
    }
    if ($Node -is [array]) {
        $copy = [object[]]@(foreach ($item in $Node) { Copy-World $item })
        if ($Node -is [string[]]) { return , [string[]]$copy }
        return , $copy
    }
    $Node
}

# The lock is open, and empty.
function Copy-Disk([string]$From, [string]$To) {
    $null = [IO.Directory]::CreateDirectory($To)
    foreach ($file in [IO.Directory]::GetFiles($From)) {
        $name = [IO.Path]::GetFileName($file)
        if ($name -eq 'agent.lock') { [IO.File]::Create("$To/$name").Dispose() } else { [IO.File]::Copy($file, "$To/$name") }
    }
    foreach ($folder in [IO.Directory]::GetDirectories($From)) { Copy-Disk $folder "$To/$([IO.Path]::GetFileName($folder))" }
}

# Dot-sourced behind the stand-ins: a copy of all, named by moment and number, is put into $Copies at each write of state.json
# (before it, with the new file made, and after it) and after each effect.
$TakeCopies = {
    function Add-Copy([string]$Moment) {
        $Copies.Counts[$Moment] = 1 + [int]$Copies.Counts[$Moment]
        $name = "$Moment-$($Copies.Counts[$Moment])"
        if ($Copies.Only -and $name -notin $Copies.Only) { return }
        if ($Copies.Folder) { Copy-Disk "$($World.base)/C" "$($Copies.Folder)/$name" }
        $Copies.Worlds[$name] = Copy-World $World
    }
    Copy-Item -Path function:Save-Text -Destination function:Save-RealText
    Copy-Item -Path function:Move-OverFile -Destination function:Move-StubFile
    function Save-Text([string]$Path, [string]$Text) {
        $mine = $Path -like '*state.json'
        if ($mine) { Add-Copy 'before' }
        Save-RealText $Path $Text
        if ($mine) { Add-Copy 'after' }
    }
    function Move-OverFile([string]$From, [string]$To, [bool]$Anew) {
        if ($To -like '*state.json') { Add-Copy 'made' }
        Move-StubFile $From $To $Anew
    }
    function Add-Effect([string]$Text) {
        $World.effects = @($World.effects) + $Text
        Add-Copy 'effect'
    }
}

function New-CopySet([string]$Folder) { @{ Counts = @{}; Worlds = @{}; Folder = $Folder; Only = @() } }

# The machine as it was at a point of a run.
function Restore-Copy($Copies, [string]$Name, [string]$Base) {
    if ([IO.Directory]::Exists("$Base/C")) { [IO.Directory]::Delete("$Base/C", $true) }
    Copy-Disk "$($Copies.Folder)/$Name" "$Base/C"
    Copy-World $Copies.Worlds[$Name]
}

# Starts the machine until its task is disabled. A reboot happens when one was asked for.
function Complete-World($World, [string]$Base, [scriptblock]$More) {
    for ($run = 0; $run -lt 12 -and $World['effects'] -notcontains 'task.disable capwin-agent'; $run++) {
        if (@($World['effects'])[-1] -like '*shutdown.exe*') { Start-Boot $World }
        Invoke-Start $World $Base $More
    }
    @{ state = (Read-State $Base); world = $World; tree = (Get-Tree $Base) }
}

# The files of the machine, but for the agent's own.
function Get-Tree([string]$Base) {
    $files = [IO.Directory]::GetFiles("$Base/C", '*', 'AllDirectories') | Where-Object { $_ -notlike '*ProgramData*' } | Sort-Object
    @(foreach ($file in $files) { $file.Substring($Base.Length) + ' ' + (Get-FileHash $file).Hash.Substring(0, 8) }) -join "`n"
}

# Runs to its end, and takes copies on the way.
function Invoke-Straight($Vector, [string]$Base, $Copies) {
    $null = $Copies # read by what is dot-sourced
    Complete-World (Initialize-World $Vector $Base) $Base $TakeCopies
}

# A later start of a machine whose sentinel is gone, and copies on its way.
function Invoke-LaterStart([string]$Base, $Copies) {
    $world = Initialize-World (New-BootVector) $Base
    Invoke-Start $world $Base
    [IO.File]::Delete((Get-Sentinel $Base))
    Start-Later $world
    $world.effects = @()
    if ($Copies) { Invoke-Start $world $Base $TakeCopies }
    $world
}
