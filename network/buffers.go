package network

// TCPRmem is Linux's usual net.ipv4.tcp_rmem: minimum, default and maximum of a receive buffer in
// bytes (tcp(7)). Kernels on machines with little memory begin with less; hosts here do not.
func TCPRmem() [3]int { return [3]int{4096, 131072, 6291456} }

// TCPWmem is Linux's usual net.ipv4.tcp_wmem: minimum, default and maximum of a send buffer in
// bytes (tcp(7)).
func TCPWmem() [3]int { return [3]int{4096, 16384, 4194304} }
