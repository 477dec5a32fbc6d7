<#
The programs of a node's image, as far as plans start them, over the stand-ins of test/upstream/powershell. An answer follows from the
world: from the registry, the files, the services, and from $World.node, which the Go side makes of the plan. It is a table: what the
program prints, its exit code, and what it does to the machine, which happens only when nothing has failed before.
#>
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'
$ClassList = 'HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\CCG\COMClasses'

function Get-Answer([string[]]$Argv) {
    $name = ($Argv[0] -split '[\\/]')[-1]
    $tail = [string[]]@($Argv | Select-Object -Skip 1)
    switch ($name) {
        'kubeadm.exe' { Get-KubeadmAnswer $tail }
        'kubelet.exe' { @{ out = "Kubernetes v$($World.node.version)`n" } }
        'kube-proxy.exe' { @{ out = "Kubernetes v$($World.node.version)`n" } }
        'containerd.exe' { Get-ContainerdAnswer $tail }
        'ctr.exe' { Get-CtrAnswer $tail }
        'kubectl.exe' { Get-KubectlAnswer $tail }
        'rpctool.exe' { @{ do = { param($x) Send-Wire $x }; with = $Argv[1] } }
        'VMwareToolboxCmd.exe' { @{ } }
        'certutil.exe' { @{ exit = $(if (Test-NodeFile $tail[-1]) { 0 } else { 2 }); out = 'CertUtil: -addstore command' } }
        'tzutil.exe' { @{ } }
        'w32tm.exe' { @{ exit = $(if (Test-ServiceRuns 'w32time') { 0 } else { 1 }); out = 'The service has (not) been started.' } }
        'netsh.exe' { Get-NetshAnswer ($tail -join ' ') }
        'route.exe' { @{ out = Get-RouteTable } }
        'curl.exe' { Get-CurlAnswer $tail[-1] }
        'findstr.exe' { Get-FindstrAnswer $tail }
        'cmd.exe' { Get-CmdAnswer ($tail | Select-Object -Skip 2) }
        'powershell.exe' { Get-ScriptAnswer $tail }
        'wevtutil.exe' { @{ out = "Event[0]`n  Log Name: $($tail[1])`n$($World['spill'])" } }
        'shutdown.exe' { @{ do = { $World.node.off = $true } } }
        'sc.exe' { Get-ScAnswer $tail }
    }
}

function Send-Wire([string]$Text) { $World.wire = @($World.wire) + $Text }
function Test-NodeFile([string]$Path) { [IO.File]::Exists((ConvertTo-RealPath $Path)) }
function Test-ServiceRuns([string]$Name) { $World.services.ContainsKey($Name) -and $World.services[$Name]['state'] -eq 'Running' }
function Write-NodeFile([string]$Path, [string]$Text) {
    $real = ConvertTo-RealPath $Path
    $null = [IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($real))
    [IO.File]::WriteAllText($real, $Text)
}

# Preflight refuses what another join has left and a kubelet that runs. The kubelet makes its certificate after the start.
function Get-KubeadmAnswer([string[]]$Tail) {
    if ($Tail[0] -ne 'join') { return @{ out = "v$($World.node.version)`n" } }
    $left = @('kubelet.conf', 'bootstrap-kubelet.conf', 'pki\ca.crt' | Where-Object { Test-NodeFile "C:\etc\kubernetes\$_" })
    if (Test-ServiceRuns 'kubelet') { $left += 'Port 10250 is in use' }
    if (-not (Test-NodeFile $Tail[2])) { $left += "no $($Tail[2])" }
    if ($left) { return @{ exit = 1; err = "[preflight] Some fatal errors occurred:`n$($left -join "`n")" } }
    @{ out = 'This node has joined the cluster'; do = { Invoke-Join } }
}

function Invoke-Join {
    Write-NodeFile 'C:\etc\kubernetes\bootstrap-kubelet.conf' 'bootstrap'
    Write-NodeFile 'C:\etc\kubernetes\pki\ca.crt' 'ca'
    Step-Moment 'in kubeadm join'
    Write-NodeFile 'C:\var\lib\kubelet\config.yaml' 'kind: KubeletConfiguration'
    Write-NodeFile 'C:\var\lib\kubelet\kubeadm-flags.env' 'KUBELET_KUBEADM_ARGS=""'
    $World.services['kubelet']['state'] = 'Running'
    Write-NodeFile 'C:\etc\kubernetes\kubelet.conf' 'kubelet'
    Step-Moment 'in kubeadm join, the kubelet runs'
    Write-NodeFile 'C:\var\lib\kubelet\pki\kubelet-client-current.pem' 'joined'
    [IO.File]::Delete((ConvertTo-RealPath 'C:\etc\kubernetes\bootstrap-kubelet.conf'))
    Add-CniNetwork
}

# The daemon of the CNI makes its networks when the kubelet has started its pod.
function Add-CniNetwork {
    foreach ($name in @($World.node.awaited)) {
        if (-not $name -or @($World.hns | Where-Object { $_['Name'] -eq $name }).Count) { continue }
        $World.hns = @($World.hns) + @{
            kind = 'networks'; ID = "awaited-$name"; Name = $name; Type = 'Overlay'; ManagementIP = $World['managementIP']
            Subnets = [object[]]@(@{ AddressPrefix = '10.132.6.0/23' })
        }
    }
}

function Get-ContainerdAnswer([string[]]$Tail) {
    $version = "containerd github.com/containerd/containerd/v2 v$($World.node.containerd) 0123456`n"
    if ($Tail[0] -eq '--version') { return @{ out = $version } }
    @{ out = Get-ContainerdDump }
}

# What config.toml and its drop-ins say together: of each key of a table the last file counts.
function Get-ContainerdDump {
    $all = [ordered]@{ '' = [ordered]@{} }
    $folder = ConvertTo-RealPath 'C:\Program Files\containerd\conf.d'
    $dropIns = if ([IO.Directory]::Exists($folder)) { [IO.Directory]::GetFiles($folder, '*.toml') | Sort-Object }
    foreach ($file in @(ConvertTo-RealPath 'C:\Program Files\containerd\config.toml') + @($dropIns | Where-Object { $_ })) {
        $table = ''
        foreach ($line in [IO.File]::ReadAllLines($file)) {
            if ($line -match '^\s*\[(.+)\]\s*$') {
                $table = $Matches[1]
                if (-not $all.Contains($table)) { $all[$table] = [ordered]@{} }
            }
            elseif ($line -match '^\s*([^#\s][^=]*?)\s*=\s*(.*)$') { $all[$table][$Matches[1]] = $Matches[2] }
        }
    }
    $lines = foreach ($table in $all.Keys) {
        if ($table) { "  [$table]" }
        foreach ($key in $all[$table].Keys) { "    $key = $($all[$table][$key])" }
    }
    ($lines -join "`n") + "`n"
}

function Get-CtrAnswer([string[]]$Tail) {
    $image = $Tail[-1] -creplace '^name=='
    $pull = { param($x) $World.node.images = @($World.node.images) + $x }
    if ($Tail -contains 'pull') { return @{ out = "done: $image"; do = $pull; with = $image } }
    $line = if ($image -in @($World.node.images)) { "$image`tapplication/vnd.oci.image.index.v1+json`tsha256:0123`n" }
    @{ out = "REF`tTYPE`tDIGEST`tSIZE`tPLATFORMS`tLABELS`t`n$line" }
}

# curl tells when the kernel was written, and what kube-proxy says of itself.
function Get-CurlAnswer([string]$Url) {
    if ($Url -like 'file:*') { return @{ out = "Content-Length: 1`r`nLast-Modified: $($World.node.updated)`r`n" } }
    if (-not (Test-ServiceRuns 'kube-proxy')) { return @{ exit = 7 } }
    @{ out = "kubeproxy_sync_proxy_rules_last_timestamp_seconds{ip_family=`"IPv4`"} 1.767225602e+09`n" }
}

function Get-FindstrAnswer([string[]]$Tail) {
    if (-not (Test-NodeFile $Tail[-1])) { return @{ exit = 1; err = "FINDSTR: Cannot open $($Tail[-1])" } }
    $lines = @([IO.File]::ReadAllLines((ConvertTo-RealPath $Tail[-1])) | Where-Object { $_.StartsWith($Tail[2].Substring(3)) })
    @{ exit = $(if ($lines) { 0 } else { 1 }); out = ($lines -join "`n") }
}

function Get-KubectlAnswer([string[]]$Tail) {
    $login = $Tail[[array]::IndexOf($Tail, '--kubeconfig') + 1]
    if (-not (Test-NodeFile $login)) { return @{ exit = 1; err = "error: stat ${login}: no such file or directory" } }
    $replace = { param($x) Send-Wire ([IO.File]::ReadAllText($x)) }
    if ($Tail -contains 'replace') { return @{ do = $replace; with = $Tail[[array]::IndexOf($Tail, '-f') + 1] } }
    if ($Tail[-1] -like '*podCIDRs*') { return @{ out = '["10.244.3.0/24"]' } }
    @{ out = "registered=$($World.node.name)" }
}

function Get-NetshAnswer([string]$Line) {
    if ($Line -match 'firewall delete rule name=(\S+)') {
        $rule = $Matches[1]
        $none = @{ exit = 1; out = 'No rules match the specified criteria.' }
        if (-not $World.node.firewall.ContainsKey($rule)) { return $none }
        return @{ do = { param($x) $World.node.firewall.Remove($x) }; with = $rule }
    }
    $add = { param($x) $World.node.firewall[$x[1]] = $x[2] }
    if ($Line -match 'firewall add rule name=(\S+) (.*)') { return @{ do = $add; with = $Matches } }
    $subnet = "`r`n    Subnetzpraefix:   10.0.0.0/24 (Maske 255.255.255.0)`r`n"
    if ($Line -like 'interface ipv4 show addresses *') { return @{ out = $subnet } }
    @{ do = { param($x) $World.node.ports[$x] = $true }; with = $Line }
}

function Get-RouteTable {
    $text = foreach ($route in $World.routes) {
        if ($route['to'] -ne '0.0.0.0/0') { continue }
        $own = @($World.addresses | Where-Object { $_['index'] -eq $route['index'] -and $_['address'] -notlike '*:*' })[0]
        if ($own) { '          0.0.0.0          0.0.0.0         {0}         {1}     25' -f $route['via'], ($own['address'] -replace '/.*') }
    }
    "`r`n$($text -join "`r`n")`r`n"
}

function Get-CmdAnswer([string[]]$Words) {
    if ($Words[0] -eq 'echo') { return @{ out = "$($Words[1..($Words.Count - 1)] -join ' ')`r`n" } }
    $copy = { param($x) Write-NodeFile $x[3] ([IO.File]::ReadAllText((ConvertTo-RealPath $x[2]))) }
    if ($Words[0] -eq 'copy') { return @{ do = $copy; with = $Words } }
    if ($Words -contains 'del') { return @{ do = { param($x) Invoke-Undo $x }; with = $Words } }
    Get-BatchAnswer $Words[0]
}

function Invoke-Undo([string[]]$Words) {
    if ($Words -contains 'stop') { $World.services['kubelet']['state'] = 'Stopped' }
    $files = @($Words | Where-Object { $_ -like 'C:\etc\*' -and (Test-NodeFile $_) })
    foreach ($path in $files) { [IO.File]::Delete((ConvertTo-RealPath $path)) }
}

function Get-ScriptAnswer([string[]]$Tail) {
    $file = $Tail[[array]::IndexOf($Tail, '-File') + 1]
    if ($Tail -contains '-Command') { return @{ } }
    switch (($file -split '\\')[-1]) {
        'data-drive.ps1' { return @{ out = "free 110000 MiB`r`n" } }
        'domain-join.ps1' { return @{ exit = $(if ($World.node['member']) { 0 } else { 3010 }); do = { $World.node.member = $true } } }
        'gmsa-plugin.ps1' { return @{ do = { param($x) $World.registry[$x] = @{ '' = '' } }; with = "$ClassList\$($World.node.class)" } }
    }
    Get-BatchAnswer $file
}

# A script of the user's. Each that is called reboot... wants one restart, which Windows Update does not mind.
function Get-BatchAnswer([string]$File) {
    if (-not (Test-NodeFile $File)) { return @{ exit = 1; err = 'The system cannot find the file specified.' } }
    $first = $File -like '*-reboot*' -and $File -notin @($World.node.ran)
    @{ exit = $(if ($first) { 3010 } else { 0 }); do = { param($x) $World.node.ran = @($World.node.ran) + $x }; with = $File }
}

# Whatever else sc.exe does, the stand-ins know.
function Get-ScAnswer([string[]]$Tail) {
    $state = @{ Stopped = 1; StartPending = 2; StopPending = 3; Running = 4 }
    if ($Tail[0] -eq 'query') { return @{ out = "        STATE              : $($state[$World.services[$Tail[1]]['state']])  X" } }
    if ($Tail[0] -eq 'start' -and $Tail[1] -eq 'kubelet') { Add-CniNetwork }
}
