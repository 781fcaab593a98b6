//! The program: parse, run, exit code.

fn main() -> std::process::ExitCode {
    overlaid::cli::main()
}
