# Joins the Active Directory domain that the file beside this script names. It may run again: a member stays one. Exit code
# 3010: a member after a restart.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'
$wanted = Get-Content -LiteralPath 'C:\run\capwin\domain-join.json' -Raw -Encoding UTF8 | ConvertFrom-Json
$computer = Get-CimInstance -ClassName Win32_ComputerSystem
if ($computer.PartOfDomain -and $computer.Domain -eq $wanted.domain) { exit 0 }
$password = (New-Object System.Net.NetworkCredential('', $wanted.password)).SecurePassword
$join = @{
    DomainName = $wanted.domain
    Credential = New-Object System.Management.Automation.PSCredential($wanted.username, $password)
    Force = $true
}
if ($wanted.organizationalUnit) { $join.OUPath = $wanted.organizationalUnit }
Add-Computer @join
exit 3010
