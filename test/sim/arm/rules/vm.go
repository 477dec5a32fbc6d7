package rules

import "strings"

const diskKinds = "Standard~LRS|Premium~LRS|StandardSSD~LRS|UltraSSD~LRS|Premium~ZRS|StandardSSD~ZRS|PremiumV2~LRS"

// vmTree is the body of a VM's PUT, from the reference "Virtual Machines - Create Or Update" of api-versions 2021-03-01 to
// 2026-04-01 [D]. A value's "~" stands for "_", its "_" for a blank.
var vmTree = parseTree(strings.ReplaceAll(`
id text readonly
name text
type text
etag text readonly
managedBy text readonly
location text
tags map
zones texts
placement object since=2025-04-01
  zonePlacementPolicy text values=Any|Auto
  includeZones texts
  excludeZones texts
extendedLocation object
  name text
  type text values=EdgeZone
plan object
  name text required
  publisher text required
  product text required
  promotionCode text
identity object
  type text required values=SystemAssigned|UserAssigned|SystemAssigned,_UserAssigned|None
  principalId text readonly
  tenantId text readonly
  userAssignedIdentities map
properties object required
  vmId text readonly
  provisioningState text readonly
  timeCreated text readonly
  instanceView object readonly
  hardwareProfile object required
    vmSize text required
    vmSizeProperties object since=2021-07-01
      vCPUsAvailable int
      vCPUsPerCore int
  scheduledEventsPolicy any since=2024-03-01
  storageProfile object required
    imageReference object
      id text
      publisher text
      offer text
      sku text
      version text
      exactVersion text readonly
      sharedGalleryImageId text
      communityGalleryImageId text since=2021-07-01
    osDisk object required
      osType text values=Windows|Linux
      name text
      vhd any
      image any
      encryptionSettings any
      caching text values=None|ReadOnly|ReadWrite
      writeAcceleratorEnabled bool
      createOption text required values=FromImage|Attach|Empty|Copy|Restore
      diskSizeGB int
      deleteOption text values=Delete|Detach
      diffDiskSettings object
        option text required values=Local
        placement text values=CacheDisk|ResourceDisk|NvmeDisk
        enableFullCaching bool since=2025-04-01
      managedDisk object
        id text id=Microsoft.Compute/disks
        storageAccountType text values=DISKS
        diskEncryptionSet object
          id text required id=Microsoft.Compute/diskEncryptionSets
        securityProfile object since=2021-07-01
          securityEncryptionType text values=VMGuestStateOnly|DiskWithVMGuestState|NonPersistedTPM
          diskEncryptionSet object
            id text required id=Microsoft.Compute/diskEncryptionSets
    dataDisks list
      lun int required
      name text
      vhd any
      image any
      caching text values=None|ReadOnly|ReadWrite
      writeAcceleratorEnabled bool
      createOption text required values=FromImage|Attach|Empty|Copy|Restore
      diskSizeGB int
      toBeDetached bool
      detachOption text values=ForceDetach
      deleteOption text values=Delete|Detach
      diskIOPSReadWrite int readonly
      diskMBpsReadWrite int readonly
      sourceResource any since=2024-03-01
      managedDisk object
        id text id=Microsoft.Compute/disks
        storageAccountType text values=DISKS
        diskEncryptionSet object
          id text required id=Microsoft.Compute/diskEncryptionSets
    diskControllerType text since=2022-08-01 values=SCSI|NVMe
    alignRegionalDisksToVMZone bool since=2024-11-01
  additionalCapabilities object
    ultraSSDEnabled bool
    hibernationEnabled bool
    enableFips1403Encryption bool since=2024-11-01
  osProfile object
    computerName text
    adminUsername text
    adminPassword text
    customData text
    allowExtensionOperations bool
    requireGuestProvisionSignal bool
    secrets any
    linuxConfiguration any
    windowsConfiguration object
      provisionVMAgent bool
      enableAutomaticUpdates bool
      enableVMAgentPlatformUpdates bool readonly
      timeZone text
      additionalUnattendContent list
        passName text values=OobeSystem
        componentName text values=Microsoft-Windows-Shell-Setup
        settingName text values=AutoLogon|FirstLogonCommands
        content text
      patchSettings object
        patchMode text values=Manual|AutomaticByOS|AutomaticByPlatform
        assessmentMode text values=ImageDefault|AutomaticByPlatform
        enableHotpatching bool
        automaticByPlatformSettings object since=2022-08-01
          rebootSetting text values=Unknown|IfRequired|Never|Always
          bypassPlatformSafetyChecksOnUserSchedule bool since=2023-03-01
      winRM object
        listeners list
          protocol text values=Http|Https
          certificateUrl text
  networkProfile object required
    networkApiVersion text values=2020-11-01|2022-11-01
    networkInterfaces list
      id text required id=Microsoft.Network/networkInterfaces
      properties object
        primary bool
        deleteOption text values=Delete|Detach
    networkInterfaceConfigurations list
      name text required
      tags map since=2025-04-01
      properties object required
        primary bool
        deleteOption text values=Delete|Detach
        enableAcceleratedNetworking bool
        disableTcpStateTracking bool since=2022-11-01
        enableFpga bool
        enableIPForwarding bool
        auxiliaryMode text since=2022-11-01 values=None|AcceleratedConnections|Floating
        auxiliarySku text since=2023-03-01 values=None|A1|A2|A4|A8
        networkSecurityGroup object
          id text required id=Microsoft.Network/networkSecurityGroups
        dscpConfiguration object
          id text required id=Microsoft.Network/dscpConfigurations
        dnsSettings object
          dnsServers texts
        ipConfigurations list required
          name text required
          properties object required
            primary bool
            privateIPAddressVersion text values=IPv4|IPv6
            subnet object required
              id text required id=Microsoft.Network/virtualNetworks/subnets
            publicIPAddressConfiguration object
              name text required
              tags map since=2025-04-01
              sku any
              properties any
            applicationSecurityGroups list
              id text required id=Microsoft.Network/applicationSecurityGroups
            applicationGatewayBackendAddressPools list
              id text required id=Microsoft.Network/applicationGateways/backendAddressPools
            loadBalancerBackendAddressPools list
              id text required id=Microsoft.Network/loadBalancers/backendAddressPools
  securityProfile object
    securityType text values=TrustedLaunch|ConfidentialVM|Standard
    encryptionAtHost bool
    encryptionIdentity any since=2023-09-01
    proxyAgentSettings any since=2023-09-01
    uefiSettings object
      secureBootEnabled bool
      vTpmEnabled bool
  diagnosticsProfile object
    bootDiagnostics object
      enabled bool
      storageUri text
  availabilitySet object
    id text required id=Microsoft.Compute/availabilitySets
  virtualMachineScaleSet object
    id text required id=Microsoft.Compute/virtualMachineScaleSets
  proximityPlacementGroup object
    id text required id=Microsoft.Compute/proximityPlacementGroups
  host object
    id text required id=Microsoft.Compute/hostGroups/hosts
  hostGroup object
    id text required id=Microsoft.Compute/hostGroups
  capacityReservation object since=2021-04-01
    capacityReservationGroup object
      id text required id=Microsoft.Compute/capacityReservationGroups
  priority text values=Regular|Low|Spot
  evictionPolicy text values=Deallocate|Delete
  billingProfile object
    maxPrice number
  licenseType text
  extensionsTimeBudget text
  platformFaultDomain int
  scheduledEventsProfile object
    terminateNotificationProfile object
      enable bool
      notBeforeTimeout text
    osImageNotificationProfile any
  userData text since=2021-03-01
  applicationProfile any since=2021-07-01
`, "values=DISKS", "values="+diskKinds))
